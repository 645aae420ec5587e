"""Sentences have their documents' own words, under the names of their speakers."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gsum
from gsum_assets.evaluation.quotations import Speakers, Verdict
from gsum_resources.llm.extractive import ExtractiveModel
from tests.models import HashEmbedder, LetterHashes
from tests.pipeline.homes import house_at, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
SAMPLES = Path(__file__).parents[2] / "data" / "corpora"
CORPORA = ("sample-meetings", "signs")
TEXTS = {  # that methods read, pass on, or answer with
    "summaries": "text",
    "graphrag.entity_mentions": "description",
    "graphrag.relationship_mentions": "description",
    "graphrag.claims": "description",
    "graphrag.entities": "description",
    "graphrag.relationships": "description",
    "graphrag.community_reports": "text",
    "graphrag.findings": "explanation",
    "graphrag.key_points": "text",
    "graphrag.reduced_contexts": "text",
    "gor.historical_responses": "text",
    "gae.refined_contexts": "text",
    "jerr.synopses": "synopsis",
    "jerr.atomic_facts": "statement",
    "jerr.pages": "gist",
    "contexts": "text",
}
N_QUESTIONS = 2  # of each sample
METHODS = [  # one for each kind of text that an answer is written from
    *("full_context", "passage_walk", "longrag", "gor", "gae", "evidence", "jerr", "readagent"),
    *("graphrag-c0", "graphrag-c2", "graphrag-local", "graphrag-ts"),
]
SETTINGS = """
[scores]
bertscore = false
[gor.simulation]
n_queries = 3
[gor.training]
epochs = 2
[gae.training]
epochs = 2
"""
SIGNS = {
    "braces": "The page of the harbour shows y</think> and braces %s for the ferry. A sign of the "
    "harbour reads {curly} and {0} and {name!r} near the ferry. <think> The clerk of the harbour "
    "thinks so </think> and the ferry waits. The template of the ferry is {% if x %} {{ y }} here.",
    "markup": "The clerk of the harbour wrote **bold** and `code {x}` about the ferry. See "
    "https://example.org/a_b?c=1&d=%20#top for the ferry of the harbour. The ferry takes 5 % of "
    "the 🚤 boats at 10 : 30 , as printed . The clerk said “smart” quotes – and ½ of the ﬁsh in "
    "the harbour. The [laughter track] of the ferry has pdf css files and $ 5 @@ on it.",
}
QUESTIONS: list[dict | str] = [
    {"query_id": "q1", "text": "What does the sign of the harbour read?", "references": ["It."]},
    {"query_id": "q2", "text": "What did the clerk write about the ferry?", "references": ["It."]},
]


@pytest.fixture(scope="module", params=CORPORA)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[gsum.Home, str]]:
    """A corpus by its name, with answers by methods of all families."""
    corpus = request.param
    with house_at(tmp_path_factory.mktemp("words")) as house:
        house.embedder = HashEmbedder()
        house.model = ExtractiveModel(LetterHashes())  # type: ignore[assignment] - it quotes
        folder = house.home.corpora / corpus
        if corpus == "signs":
            folder.mkdir()
            for name, text in SIGNS.items():
                (folder / f"{name}.md").write_text(text)
            write_lines(folder / "queries.jsonl", QUESTIONS)
        else:
            shutil.copytree(SAMPLES / corpus, folder)
            lines = (folder / "queries.jsonl").read_text().splitlines()
            write_lines(folder / "queries.jsonl", lines[:N_QUESTIONS])
        kind = "meeting" if corpus == "sample-meetings" else "story"
        (folder / "corpus.toml").write_text(f'kind = "{kind}"\n{SETTINGS}')
        report = house.run(METHODS, corpus)
        assert report.errors == [], report.errors
        yield gsum.open(house.home.root), corpus


def test_every_sentence_is_a_documents_own_to_the_last_sign_under_its_speaker(
    home: tuple[gsum.Home, str],
) -> None:
    opened, corpus = home
    speakers = Speakers(opened.table("documents", corpus)["text"])
    wrong, n_attributed = [], 0
    for table, column in TEXTS.items():
        texts = set(opened.sql(f"from {table} where corpus = '{corpus}'")[column].dropna())
        for sentence in {s for text in texts for s in speakers.shown(text)}:
            n_attributed += bool(sentence.names)
            verdict = speakers.verdict(sentence)
            is_invented = table == "summaries" and verdict == Verdict.ELSEWHERE
            if is_invented or verdict == Verdict.WRONG or len(sentence.names) > 1:
                wrong.append((table, str(verdict), sentence))
    assert wrong == []
    answers = opened.sql(f"from summaries where corpus = '{corpus}'")
    assert set(answers["method"]) == set(METHODS)
    assert bool(n_attributed) is (corpus == "sample-meetings")
    if corpus == "signs":
        known = {word for text in SIGNS.values() for word in text.split()}
        shown = {word for text in answers["text"] for word in text.split()}
        assert shown <= known
        assert shown >= {"{curly}", "{0}", "y</think>", "%s", "@@", "“smart”", "`code"}
