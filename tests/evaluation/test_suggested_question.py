"""The suggested first question about documents."""

from pathlib import Path

import pytest

from gsum_assets.cli.terminal import quoted
from gsum_assets.corpus.load import load
from gsum_assets.evaluation.question_topics import suggest_question
from gsum_assets.pipeline.corpus_settings import load_settings

CORPORA = Path(__file__).parents[2] / "data" / "corpora"


@pytest.mark.parametrize(
    ("corpus", "question"),
    [
        ("sample-meetings", "What was said about the folding ramp?"),
        ("sample-stories", "What does The Keeper's Name say about Miss Dunne?"),
    ],
)
def test_question_reads_well_on_the_sample_corpora(corpus: str, question: str) -> None:
    documents, _ = load(CORPORA / corpus, load_settings(CORPORA / corpus))
    texts = [(document.title, document.text) for document in documents]
    assert suggest_question(texts) == question
    assert suggest_question(texts[::-1]) == question


RAMP = "They took the folding ramp to the quay. " * 2 + "Nobody saw the folding ramp again. "


@pytest.mark.parametrize(
    ("title", "text", "question"),
    [
        ("Report", RAMP, "What does Report say about the folding ramp?"),
        ("63109", RAMP, "What is written about the folding ramp?"),  # no name of a document
        ("x" * 80, RAMP, "What is written about the folding ramp?"),
        ("Folding chairs", RAMP, "What are these documents about?"),  # the title says it already
        ("Report", "", "What are these documents about?"),
        ("Report", "1 2 3 $ %", "What are these documents about?"),
    ],
)
def test_short_text_gives_a_question(title: str, text: str, question: str) -> None:
    assert suggest_question([(title, text)]) == question


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("What does The Keeper's Name say?", '"What does The Keeper\'s Name say?"'),
        ("What is $HOME?", "'What is $HOME?'"),
        ('Who said "no"?', "'Who said \"no\"?'"),
    ],
)
def test_text_is_quoted_for_the_shell(text: str, word: str) -> None:
    assert quoted(text) == word
