"""Every sentence of an answer has its source, by every method of every family."""

import re
import tomllib

import pytest

import gsum
from gsum_assets.registry.families import METHODS
from gsum_resources.llm.extractive import ExtractiveModel
from tests.gsum.test_equal_to_the_pipeline import QUESTIONS, SETTINGS, TEXTS
from tests.models import HashEmbedder, LetterHashes

MEETINGS = {  # with fillers and repetitions, which the embedded model leaves out
    "ferry": "Ann: So, um, the ferry broke its its pump in March.\nBob: Mm-hmm.\n"
    "Ann: And, you know, I ordered a new pump from the yard at Quarry Landing.\n"
    "Bob: The yard asked for, uh, nine hundred pounds.\n"
    "Ann: Right. Bob paid the yard in April.\n"
    "Bob: I mean, the ferry sailed again in May with a full deck of walkers.",
    "library": "Cleo: Okay, so the library closed its reading room when the roof leaked.\n"
    "Dan: Yeah.\nCleo: I counted forty ruined books.\n"
    "Dan: Um, I carried the dry books to the school at Quarry Landing.\n"
    "Cleo: The council, the council promised a slate roof and\nDan: Right.\n"
    "Cleo: opened a reading corner beside the climbing ropes.",
    "mill": "Ann: The the mill at Quarry Landing stood empty for nine years.\nDan: Right.\n"
    "Ann: And, you know, I bought it from the council, uh, in the spring.\n"
    "Dan: I I repaired the wheel with, um, timber from the yard.\n"
    "Ann: The first flour was ground in May, and sold to the walkers.",
}
MODELS = {"embedding_model": HashEmbedder(), "language_model": ExtractiveModel(LetterHashes())}
ONE_OF_EACH = ("bm25", "full_context", "gor", "gae", "graphrag-c0", "graphrag-local", "jerr")


@pytest.mark.parametrize("texts", [TEXTS, MEETINGS], ids=["prose", "speech"])
@pytest.mark.parametrize("method", ONE_OF_EACH)
def test_every_sentence_of_a_method_of_each_family_stands_where_its_source_says(
    method: str, texts: dict[str, str]
) -> None:
    check_sources(method, texts)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(set(METHODS.known) - set(ONE_OF_EACH)))
def test_every_sentence_of_every_method_stands_where_its_source_says(method: str) -> None:
    check_sources(method, MEETINGS)


def check_sources(method: str, texts: dict[str, str]) -> None:
    """Look up the characters of every sentence of the answers of a method."""
    result = gsum.run(
        method,
        texts,
        QUESTIONS,
        settings=tomllib.loads(SETTINGS),
        models=MODELS,
        progress=False,
    )
    sources, answers = result.tables["answer_sources"], result.answers
    assert set(sources["query_id"]) == set(answers["query_id"])
    assert set(sources["kind"]) <= {"quoted"}
    chunks = result.tables["chunks"].set_index("chunk_id")
    for row in sources.itertuples():
        text = texts[row.document_id][int(row.start_char) : int(row.end_char)]
        said = re.sub(r"^(?:Ann|Bob|Cleo|Dan): ", "", row.text)
        said = max(re.split(r"(?<=[.]) (?=[a-z])", said), key=len)  # of two cut ones the longer
        assert _is_in_order(_words(said), _words(text)), (row.text, text)
        chunk = chunks.loc[row.chunk_id]
        assert chunk["start"] < row.end_char
        assert row.start_char < chunk["end"]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _is_in_order(wanted: list[str], words: list[str]) -> bool:
    left = iter(words)
    return all(word in left for word in wanted)
