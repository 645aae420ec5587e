"""corpus.toml: defaults, and errors that name file, key, value and remedy."""

import pytest

from gsum_assets.pipeline.corpus_settings import (
    ChunkingSettings,
    CorpusError,
    CorpusSettings,
    load_settings,
)


def _settings(folder, text):
    (folder / "corpus.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings(folder)


def test_missing_file_gives_defaults(tmp_path):
    assert load_settings(tmp_path) == CorpusSettings()


def test_every_section_is_read(tmp_path):
    settings = _settings(
        tmp_path,
        '\ufefftitle = "Côté"\nkind = "meeting"\nmethods = ["bm25", "gor"]\n'
        '[chunking]\nchunker = "lines"\nmax_tokens = 20\noverlap_lines = 2\n'
        "[documents]\nmax_bytes = 10\n[gor]\nepochs = 3\n[gor.model]\nlayers = 2\n",
    )
    assert settings.title == "Côté"
    assert settings.methods == ["bm25", "gor"]
    assert settings.chunking == ChunkingSettings(chunker="lines", max_tokens=20, overlap_lines=2)
    assert settings.documents.max_bytes == 10
    assert settings.gor == {"epochs": 3, "model": {"layers": 2}}


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("x = 1\ntitle = \n", ["not valid TOML", "line 2"]),
        (b"title = '\xff'", ["not UTF-8 at byte 9"]),
        ("colour = 'red'", ["unknown key 'colour'", "'red'", "known: answer, buckets, chunking"]),
        ("[chunking]\nsize = 3", ["unknown key 'chunking.size'", "max_tokens", "overlap_lines"]),
        ("[chunking]\nmaxtokens = 3", ["'chunking.maxtokens'", "did you mean 'max_tokens' or"]),
        ("kind = 'podcast'", ["key 'kind'", "'podcast'", "meeting"]),
        ("[chunking]\nmax_tokens = '9'", ["key 'chunking.max_tokens'", "'9'", "integer"]),
        ("[chunking]\nmax_tokens = 0", ["chunking.max_tokens", "0", "greater than or equal to 1"]),
        ("[chunking]\nmax_tokens = 32", ["overlap_tokens (32)", "smaller than max_tokens (32)"]),
        ("[documents]\nmax_bytes = -1", ["documents.max_bytes", "-1"]),
        ("gor = 3", ["key 'gor'", "3", "dictionary"]),
    ],
)
def test_errors_name_file_key_and_value(tmp_path, text, fragments):
    with pytest.raises(CorpusError) as error:
        _settings(tmp_path, text)
    for fragment in [str(tmp_path / "corpus.toml"), *fragments]:
        assert fragment in str(error.value)
