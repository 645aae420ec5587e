"""`gsum.run`: what it takes, what it gives, and what it says of what it cannot use."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gsum
from gsum.names import of_arguments
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.contexts import top_contexts
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.settings.schema import SettingsError
from tests.models import FirstWords, HashEmbedder
from tests.toy.longest.family import FAMILY

TEXTS = {
    "ferry": "The ferry broke its pump in March. Bob Teal ordered a new pump from the shipyard.",
    "mill": "The mill was built in 1846. Ann Marsh had its wheel repaired with oak.",
}
MODELS = {"language_model": FirstWords(), "embedding_model": HashEmbedder()}
ASKED = [
    {"query_id": "pump", "text": "What broke?", "references": ["The pump broke."]},
    {"query_id": "mill", "text": "When was the mill built?", "references": ["In 1846."]},
]


def run(method: str = "bm25", questions=("What broke?",), texts=TEXTS, **others) -> gsum.Result:
    return gsum.run(method, texts, questions, models=MODELS, **others)


def test_frames_and_dicts_give_the_same() -> None:
    frame = pd.DataFrame({"id": list(TEXTS), "text": list(TEXTS.values()), "title": [None, "Mill"]})
    questions = pd.DataFrame(ASKED).assign(document_id=[None, "mill"], kind=np.nan)
    found = run(texts=frame, questions=questions)
    assert found.tables["documents"].set_index("document_id")["title"].to_dict() == {
        "ferry": "ferry",
        "mill": "Mill",
    }
    assert found.contexts.groupby("query_id")["document_id"].agg(set)["mill"] == {"mill"}
    by_dict = run(questions=ASKED)
    pd.testing.assert_frame_equal(found.tables["chunks"], by_dict.tables["chunks"])


def test_a_table_that_no_answer_needs_is_made_when_it_is_used() -> None:
    embedder = HashEmbedder()
    models = {**MODELS, "embedding_model": embedder}
    found = gsum.run("bm25", TEXTS, ["What broke?"], models=models)
    assert embedder.n_embedded == 0
    assert len(found.tables["chunk_embeddings"]) == 2
    assert embedder.n_embedded == 2
    assert dict(found.tables)["chunks"].shape == found.tables["chunks"].shape


def test_a_further_question_is_answered_as_the_first() -> None:
    found = run("dense", ["What broke?"])
    asked = found.ask("What broke?")
    assert asked.text == found.answers["answer"][0]
    assert asked.contexts["node_id"].tolist() == found.contexts["node_id"].tolist()
    assert set(asked.sources["title"]) == {"ferry", "mill"}
    assert "found by dense" in str(asked)
    alone = found.ask("What broke?", document_id="mill")
    assert set(alone.sources["document_id"]) == {"mill"}
    with pytest.raises(CorpusError, match="has no document 'mil'; did you mean 'mill'"):
        found.ask("What broke?", document_id="mil")


def test_settings_are_those_of_both_files() -> None:
    found = run(
        settings={"chunking": {"max_tokens": 8, "overlap_tokens": 0}, "retrieval": {"k": 1}}
    )
    assert found.tables["chunks"]["n_tokens"].max() <= 8
    assert len(found.contexts) == 1
    with pytest.raises(SettingsError, match=r"settings: \[llm\]: backend .* needs a model"):
        run(settings={"llm": {"backend": "openai_compatible"}})


def test_scores_and_their_comparison() -> None:
    first, second = run(questions=ASKED), run("random", ASKED)
    difference = gsum.compare(first, second, metric="rouge1")
    columns = difference.by_question
    assert difference.n == 2
    assert columns["question"].tolist() == ["When was the mill built?", "What broke?"]
    assert difference.difference == pytest.approx((columns["first"] - columns["second"]).mean())
    with pytest.raises(
        gsum.UnknownNameError, match="metric of bm25 'rouge'; did you mean 'rouge1'"
    ):
        gsum.compare(first, second, metric="rouge")
    with pytest.raises(ValueError, match="give questions as dicts or a frame with 'references'"):
        gsum.compare(run(), run("random"))
    with pytest.raises(ValueError, match="no question in common"):
        gsum.compare(first, run(questions=[{**ASKED[0], "query_id": "other"}]))


def test_names_are_no_results(in_harbour: Path) -> None:
    with pytest.raises(
        TypeError, match=r"takes two results of gsum.run, not 'gor';.*gsum.open\(\"HOME"
    ):
        gsum.compare("gor", "dense")  # type: ignore[arg-type]
    found = run(questions=ASKED)
    with pytest.raises(TypeError, match=r"not 'dense';"):
        gsum.compare(found, "dense")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"takes the names of two methods, not <gsum.Result of bm25.*gsum.compare\("
    ):
        gsum.open("data").compare(found, "dense")  # type: ignore[arg-type]


def test_messages_name_the_argument_instead_of_a_file() -> None:
    with pytest.raises(CorpusError, match=r"^the argument settings, table \[retrieval\]: unknown"):
        run(settings={"retrieval": {"kk": 1}})
    with pytest.raises(
        ModelUnavailableError, match=r"base_url in \[llm\] of the argument settings"
    ):
        gsum.run(
            "bm25",
            TEXTS,
            ["What broke?"],
            models={"embedding_model": HashEmbedder()},
            settings={
                "llm": {"backend": "openai_compatible", "model": "m"}
                | {"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}
            },
        )
    with pytest.raises(ValueError, match=r"raise max_bytes in \[documents\] of the argument set"):
        run(settings={"documents": {"max_bytes": 20}})
    written = gsum.run("bm25", TEXTS, models={"embedding_model": HashEmbedder()}).ask("A pump?")
    assert "A model is set in [llm] of the argument settings" in str(written)


def test_only_the_names_of_the_files_are_replaced() -> None:
    said = "key 'k' in corpus.toml, [x]; gsum.toml."
    meant = "key 'k' in the argument settings, [x]; the argument settings."
    others = "my/corpus.toml, my_corpus.toml, gsum.tomlx"
    assert (of_arguments(said), of_arguments(others)) == (meant, others)


def test_a_document_that_cannot_be_used_is_left_out() -> None:
    message = "1 of 3 documents were rejected.*'empty': the text has only"
    with pytest.warns(UserWarning, match=message):
        found = run(texts={**TEXTS, "empty": " "})
    assert found.tables["rejected_documents"]["document_id"].tolist() == ["empty"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "bm52"}, "unknown method 'bm52'; did you mean 'bm25'"),
        ({"method": "graphrag"}, "is a family of methods; choose one of graphrag-c0"),
        ({"settings": {"chunks": {}}}, "table of settings 'chunks'; did you mean 'chunking'"),
        ({"models": {"llm": FirstWords()}}, "unknown model 'llm'"),
        ({"texts": {"empty": " "}}, "the text has only blanks"),
        ({"texts": {}}, "texts is empty"),
        ({"texts": ["one"]}, "texts is a list; give a dict of texts by document id"),
        (
            {"questions": ["Who?", {"query_id": "q", "text": "Who?", "document_id": "moon"}]},
            "question 2, query 'q': document 'moon' is not in the",
        ),
    ],
)
def test_bad_input_is_named(arguments: dict, message: str) -> None:
    given = {"method": "bm25", "texts": TEXTS, "models": MODELS, **arguments}
    expected = gsum.UnknownNameError if {"texts", "questions"}.isdisjoint(arguments) else ValueError
    with pytest.raises(expected, match=message):
        gsum.run(**given)


def test_an_unknown_table_is_named() -> None:
    tables = run().tables
    with pytest.raises(gsum.UnknownNameError, match="table of bm25 'chunk'; did you mean 'chunks'"):
        tables["chunk"]
    assert "chunk" not in tables


def test_a_failed_request_is_named() -> None:
    models = {**MODELS, "language_model": FirstWords(refuses="pump")}
    asked = [{"query_id": name, "text": "What?", "document_id": name} for name in TEXTS]
    found = gsum.run("bm25", TEXTS, asked, models=models)
    assert found.answers["query_id"].tolist() == ["mill"]
    assert any("question 'ferry' has no answer: refused" in one for one in found.failures)


def _longest_first(inputs: Inputs) -> pa.Table:
    chunks = inputs.table("chunks").to_pylist()
    chunks.sort(key=lambda chunk: len(chunk["text"]), reverse=True)
    same = {"level": "node", "latency_s": 0.0}
    return pa.Table.from_pylist(
        [
            {"query_id": q, "rank": i, "item_id": chunk["chunk_id"], "score": 1 / i, **same}
            for q in inputs.table("queries")["query_id"].to_pylist()
            for i, chunk in enumerate(chunks, 1)
        ]
    )


def _best(inputs: Inputs) -> pa.Table:
    return top_contexts(inputs.table("rankings"), inputs.table("chunks"), k=1)


def test_a_method_of_ones_own() -> None:
    steps = (Step(_longest_first, RANKINGS, ("chunks",)), Step(_best, CONTEXTS, ("chunks",)))
    found = gsum.run(Family("longest", ("longest",), steps), TEXTS, ["What broke?"], models=MODELS)
    assert found.method == "longest"
    assert found.contexts["document_id"].tolist() == ["ferry"]
    assert found.ask("When was it built?").contexts["document_id"].tolist() == ["ferry"]


def test_an_index_needs_declared_tables() -> None:
    with pytest.raises(ValueError, match="'longest': its index writes 'lengths', which no tables"):
        gsum.run(FAMILY, TEXTS, ["What broke?"], models=MODELS)
