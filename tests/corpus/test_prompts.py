"""A file overrides a prompt; a slip in it is an error that names file, placeholder and remedy."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gsum_assets.corpus.folder import read_records
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.prompts import (
    Prompt,
    PromptFolder,
    Prompts,
    names_of,
    overrides,
    prompt_text,
    prompts_of,
    write_prompts,
)
from gsum_assets.registry.families import PROMPTS

KNOWN = {
    "gor": Prompts({"response": Prompt("Answer in {max_words} words.", writes=True)}),
    "gae": Prompts({"topic": Prompt("Name it."), "edit": Prompt("Edit it.")}),
}


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / "prompts" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """That of a corpus, and the home."""
    return [tmp_path / "corpora" / "tales", tmp_path]


def response(folders: list[Path], language: str = "en") -> str:
    return prompt_in(folders, "gor", "response", language)


def prompt_in(
    folders: list[Path], family: str, name: str, language: str = "en", known: Mapping = KNOWN
) -> str:
    return prompt_text(known, family, name, [PromptFolder(folder) for folder in folders], language)


def test_corpus_prompt_overrides_home_and_home_overrides_default(folders: list[Path]) -> None:
    assert response(folders) == "Answer in {max_words} words."
    put(folders[1], "gor/response.md", "At home: {max_words}.\n")
    assert response(folders) == "At home: {max_words}."
    put(folders[0], "gor/response.md", "In the corpus: {max_words}.")
    assert response(folders) == "In the corpus: {max_words}."
    assert prompt_in(folders, "gae", "topic") == "Name it."
    assert overrides(KNOWN, [PromptFolder(folder) for folder in folders]) == {
        "gor.response": folders[0] / "prompts/gor/response.md"
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Say {max_word}.", r"response.md: unknown placeholder \{max_word\}; .*\{max_words\}"),
        ("Say {max_words} and {}.", r"unknown placeholder \{\}"),
        ("Say {max_words:>100000}.", r"unknown placeholder \{max_words:>100000\}"),
        ("Say it.", r"response.md: placeholder \{max_words\} is missing; write it"),
        ('Say {"a": 1} {max_words}.', r'unknown placeholder \{"a": 1\}.*write \{\{ and \}\}'),
        ("Say } {max_words}.", r"response.md: .*write \{\{ and \}\}"),
        (" \n", r"response.md: empty; write the prompt into it, or remove it"),
    ],
)
def test_mistake_in_a_prompt_file_is_named(folders: list[Path], text: str, error: str) -> None:
    put(folders[1], "gor/response.md", text)
    with pytest.raises(CorpusError, match=error):
        response(folders)
    assert prompt_in(folders, "gae", "topic") == "Name it."


@pytest.mark.parametrize("text", ["In {max_words} words.", "{form}", "Briefly. {form}"])
def test_an_answer_prompt_may_have_a_form_or_a_length(folders: list[Path], text: str) -> None:
    put(folders[1], "answers/answer.md", text)
    assert prompt_in(folders, "answers", "answer", known=PROMPTS) == text
    put(folders[1], "answers/answer.md", "{kind}")
    with pytest.raises(CorpusError, match=r"\{kind\}; this prompt has \{form\}, \{max_words\}"):
        prompt_in(folders, "answers", "answer", known=PROMPTS)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gor/respones.md", r"did you mean 'response.md'\? Known: response.md"),
        ("gor/response.txt", r"no prompt of gor has this name"),
        ("goer/response.md", r"goer: no family of prompts has this name; did you mean 'gor'\?"),
        ("notes.md", r"notes.md: no family .* out of the folder 'prompts'"),
    ],
)
def test_file_without_overrides_raises(folders: list[Path], name: str, error: str) -> None:
    put(folders[0], "gor/response.md", "{max_words}")
    put(folders[1], "gae/.topic.md.swp", "an editor's")
    assert response(folders) == "{max_words}"
    put(folders[1], name, "{max_words}")
    with pytest.raises(CorpusError, match=error):
        response(folders)


@pytest.mark.parametrize(
    ("language", "end"),
    [
        ("en", "words."),
        ("de", "words. Write in German."),
        ("ZH_hant", "words. Write in Chinese."),
        ("tlh", "words. Write in the language with the code tlh."),
    ],
)
def test_prose_language_is_named(folders: list[Path], language: str, end: str) -> None:
    assert response(folders, language).endswith(end)
    assert prompt_in(folders, "gae", "topic", language) == "Name it."
    put(folders[0], "gor/response.md", "Antworte in {max_words} words.")
    assert response(folders, language).endswith(end)


def test_prompt_is_read_once_and_only_on_use() -> None:
    read: list[tuple[str, str]] = []

    class Reader:
        def section(self, corpus: str, name: str) -> str:
            read.append((corpus, name))
            return "{{{max_words}}}"

    prompts = prompts_of(Reader().section, "tales", "gor")
    assert not read
    assert [prompts.text("response", max_words=n) for n in (5, 6)] == ["{5}", "{6}"]
    assert read == [("tales", "prompts.gor.response")]


def test_written_prompts_equal_the_defaults(folders: list[Path]) -> None:
    kept = put(folders[0], "gor/question.md", "Mine.")
    written = write_prompts(PROMPTS, folders[0])
    assert kept not in written
    assert len(written) == len(list(names_of(PROMPTS))) - 1
    assert kept.read_text() == "Mine."
    for family, name in names_of(PROMPTS):
        built_in = prompt_in([], family, name, known=PROMPTS)
        text = prompt_in(folders, family, name, known=PROMPTS)
        assert text == ("Mine." if (family, name) == ("gor", "question") else built_in.strip())
    assert write_prompts(PROMPTS, folders[0]) == []


def test_prompt_files_are_no_documents(tmp_path: Path) -> None:
    put(tmp_path, "gor/response.md", "Answer.")
    (tmp_path / "a.md").write_text("A boat.")
    assert [record.file for record in read_records(tmp_path, 1000)] == ["a.md"]
