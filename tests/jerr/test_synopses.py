"""A synopsis for every line chunk that is longer than one."""

import pyarrow as pa

from gsum_assets.jerr.settings import IndexSettings
from gsum_assets.jerr.sizes import of_one_size
from gsum_assets.jerr.synopses import synopses
from tests.gor.toy_documents import Scripted

LONG = "The ferry of the old harbour leaves at noon. " * 40  # 360 words
SETTINGS = IndexSettings()


def line_chunks(texts: list[str], n_tokens: int = 1000) -> pa.Table:
    rows = [
        {
            "chunk_id": f"c{i}",
            "document_id": "d",
            "position": i,
            "start": 0,
            "end": len(text),
            "n_tokens": n_tokens,
            "text": text,
        }
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, of_one_size("jerr.line_chunks"))


def test_length_is_proportional_to_the_chunk() -> None:
    model = Scripted(lambda _: "In short.")
    for n_tokens, words in ((1000, 100), (2000, 200), (10, 20)):
        found = synopses(line_chunks([LONG], n_tokens), model, SETTINGS)
        assert found.rows["synopsis"].to_pylist() == ["In short."]
        assert model.requests[-1].max_words == words
        assert f"at most {words} words" in model.requests[-1].instructions


def test_chunk_shorter_than_a_synopsis_is_its_own_synopsis() -> None:
    model = Scripted(lambda _: "In short.")
    found = synopses(line_chunks(["The ferry leaves at noon.", LONG]), model, SETTINGS)
    assert found.rows["synopsis"].to_pylist() == ["The ferry leaves at noon.", "In short."]
    assert found.rows["model"].to_pylist() == ["", "scripted"]
    assert [request.passages for request in model.requests] == [(LONG,)]


def test_invalid_reply_gives_no_row_and_keeps_the_rest() -> None:
    replies = iter([None, " ", "In short."])
    found = synopses(
        line_chunks([LONG + "1", LONG + "2", LONG]), Scripted(lambda _: next(replies)), SETTINGS
    )
    assert found.rows["chunk_id"].to_pylist() == ["c2"]
    assert [problem.split(":")[0] for problem in found.failures] == [
        "document 'd', line chunk 0",
        "document 'd', line chunk 1",
    ]
    assert "the server is tired" in found.failures[0]
