"""Each check alone, on tables small enough to know the answer."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.document_checks import cover_documents, finite, none_rejected
from gsum_assets.evaluation.result_checks import every_question_answered, speakers_are_right
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.finding import SHOWN
from gsum_assets.registry.every_table import ids_unique, lineage_is_current
from gsum_resources.store.parquet_store import Partition
from tests.checks.small_tables import run_check

Span = tuple[int, int]


def documents_of(**texts: str) -> pa.Table:
    return pa.table({"document_id": list(texts), "text": list(texts.values())})


def chunks_of(document_id: str, text: str, spans: Sequence[Span]) -> pa.Table:
    """The chunks of one document at `spans`."""
    return pa.table(
        {
            "document_id": pa.array([document_id] * len(spans), pa.string()),
            "start": pa.array([start for start, _ in spans], pa.int32()),
            "end": pa.array([end for _, end in spans], pa.int32()),
            "text": pa.array([text[start:end] for start, end in spans], pa.string()),
        }
    )


TEXTS = st.text(alphabet="ab \n\t é漢", max_size=40)


@given(TEXTS, st.lists(st.integers(0, 40), max_size=6), st.data())
def test_missing_slice_of_a_document_is_found(text, cuts, data) -> None:
    bounds = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    spans = list(pairwise(bounds))
    documents = documents_of(d=text)
    assert not cover_documents(chunks_of("d", text, spans), documents).problem
    if spans:
        missing = data.draw(st.sampled_from(spans))
        left = [span for span in spans if span != missing]
        finding = cover_documents(chunks_of("d", text, left), documents)
        assert bool(finding.problem) == bool(text[slice(*missing)].strip())


def test_overlap_and_order_do_not_matter() -> None:
    text = "one two three four"
    chunks = chunks_of("d", text, [(8, 18), (0, 7), (4, 13)])
    finding = cover_documents(chunks, documents_of(d=text))
    assert (finding.problem, finding.checked) == ("", "3 chunks of 1 document")


@pytest.mark.parametrize(
    ("texts", "what", "character"),
    [
        ({"d": "one two three"}, "text in no chunk", 7),
        ({"d": "xne two"}, "a chunk differs from the document", 0),
        ({"e": ""}, "a chunk of a missing document", 0),
    ],
)
def test_invalid_slices_are_named(texts: dict[str, str], what: str, character: int) -> None:
    finding = cover_documents(chunks_of("d", "one two", [(0, 7)]), documents_of(**texts))
    assert finding.n_wrong == 1
    assert finding.offenders == [{"document_id": "d", "character": character, "what": what}]
    assert what in finding.problem


def embeddings_of(ids: Sequence[str], vectors: np.ndarray) -> pa.Table:
    return pa.table({**chunk_ids(ids), "embedding": vector_column(vectors)})


def chunk_ids(ids: Sequence[str]) -> dict[str, pa.Array]:
    return {name: pa.array(list(ids), pa.string()) for name in ("chunk_id", "document_id")}


def test_unit_vectors_of_all_chunks_pass() -> None:
    finding = finite(embeddings_of("ab", np.eye(3)[:2]), pa.table(chunk_ids("ab")), {3})
    assert (finding.problem, finding.checked) == ("", "2 vectors of dimension 3")
    empty = pa.table({**chunk_ids(""), "embedding": pa.array([], pa.list_(pa.float32()))})
    assert not finite(empty, pa.table(chunk_ids("")), set()).problem


@pytest.mark.parametrize("bad", [[np.nan, 0], [np.inf, 0], [1.01, 0], [0, 0]])
def test_vector_not_of_unit_length_is_found(bad: list[float]) -> None:
    embeddings = embeddings_of("abc", np.array([[0, 1], bad, [0.9996, 0]]))
    finding = finite(embeddings, pa.table(chunk_ids("abc")), {2})
    assert finding.problem.startswith("1 of 3 vectors of dimension 2 are not finite and of unit")
    assert [offender["chunk_id"] for offender in finding.offenders] == ["b"]


def test_vectors_and_chunks_must_match() -> None:
    finding = finite(embeddings_of("ab", np.eye(2)), pa.table(chunk_ids("bcd")), {2, 4})
    assert "2 of 3 chunks have no vector" in finding.problem
    assert "1 of 2 vectors of dimension 2, 4 belong to no chunk" in finding.problem
    assert "more than one dimension" in finding.problem


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=12))
def test_keys_are_counted(keys: list[tuple[str, int]]) -> None:
    rows = pa.table(
        {
            "query_id": pa.array([query for query, _ in keys], pa.string()),
            "rank": pa.array([rank for _, rank in keys], pa.int32()),
        }
    )
    repeated = {key: n for key, n in Counter(keys).items() if n > 1}
    finding = ids_unique(rows, ("query_id", "rank"), 1)
    assert finding.n_wrong == sum(repeated.values())
    assert {(o["query_id"], o["rank"]): o["rows"] for o in finding.offenders} == repeated


def test_only_first_offenders_are_named() -> None:
    rows = pa.table({"file": [f"{i}.txt" for i in range(50)], "line": [0] * 50})
    rows = rows.append_column("reason", [["empty"] * 50])
    finding = none_rejected(rows.append_column("is_other_type", [[False] * 50]), "tales")
    assert finding.n_wrong == 50
    assert len(finding.offenders) == SHOWN
    assert "50 rejected documents (first: 0.txt: empty)" in finding.problem
    assert "`gsum run tales`" in finding.problem


def test_changed_inputs_are_named() -> None:
    changes = {Partition("tales", "00"): [], Partition("tales", "01"): ["code", "model:m"]}
    finding = lineage_is_current(changes, "tales")
    assert finding.problem.startswith("1 of 2 partitions are out of date (first: code, model:m")
    assert finding.offenders == [
        {"partition": "corpus=tales/bucket=01", "changed": "code, model:m"}
    ]


@pytest.mark.parametrize(
    ("ranks", "wrong"), [([1, 2, 3], 0), ([3, 1, 2], 0), ([2, 3], 1), ([1, 3], 1), ([0, 1], 1)]
)
def test_ranks_count_up_from_one(ranks: list[int], wrong: int) -> None:
    rankings = pa.table(
        {"query_id": ["fine", *["q"] * len(ranks)], "level": ["node"] * (len(ranks) + 1)}
        | {"rank": pa.array([1, *ranks], pa.int32())}
    )
    assert run_check("rankings", "ranks_consecutive", {"rankings": rankings}).n_wrong == wrong


def test_passages_equal_the_chunks() -> None:
    contexts = pa.table(
        {"query_id": ["q"] * 4, "rank": [1, 2, 3, 4], "node_id": ["a", "b", "gone", "r"]}
        | {"node_kind": ["chunk", "chunk", "chunk", "response"]}
        | {"text": ["A", "other", "C", "an answer"]}
    )
    chunks = pa.table({"chunk_id": ["b", "a"], "text": ["B", "A"]})
    finding = run_check("contexts", "cite_what_exists", {"contexts": contexts, "chunks": chunks})
    assert finding.checked == "3 cited chunks"
    assert [offender["node_id"] for offender in finding.offenders] == ["gone", "b"]
    assert "do not exist" in finding.problem
    assert "have another text" in finding.problem


def test_questions_without_an_answer_are_listed() -> None:
    queries = pa.table({"query_id": ["one", "two"], "text": ["Why?", "When?"]})
    finding = every_question_answered(queries, pa.table({"query_id": ["two", "two"]}), "tales")
    assert finding.offenders == [{"query_id": "one", "text": "Why?"}]


def test_sentences_under_another_name_are_listed() -> None:
    documents = pa.table({"text": ["Ann: We sail.\nBo: It rains.\nAnn: Yes."]})
    answers = pa.table({"query_id": ["one", "two"], "text": ["Ann: It rains.", "Bo: It rains."]})
    finding = speakers_are_right(answers, lambda: documents)
    assert finding.checked == "2 sentences under speakers' names"
    assert finding.offenders == [{"query_id": "one", "speaker": "Ann", "sentence": "It rains."}]


def test_documents_are_read_only_for_answers_that_name_speakers() -> None:
    answers = pa.table({"query_id": ["one"], "text": ["It rained."]})
    assert not speakers_are_right(answers, lambda: pytest.fail("read")).problem


@pytest.mark.parametrize(
    ("value", "fine"),
    [(0.0, True), (1.0 + 1e-12, True), (1.01, False), (-0.1, False), (np.nan, False)],
)
def test_scores_lie_between_zero_and_one(value: float, fine: bool) -> None:
    scores = pa.table({"query_id": ["q"], "metric": ["rouge1"], "value": [value]})
    assert bool(run_check("scores", "in_range", {"scores": scores}).problem) is not fine


@pytest.mark.parametrize(
    ("mean", "fine"), [(0.2, True), (0.3, True), (0.19, False), (0.31, False), (np.nan, False)]
)
def test_means_lie_in_their_interval(mean: float, fine: bool) -> None:
    row = {"method": "m", "split": "test", "kind": "general", "metric": "rouge1"}
    board = pa.Table.from_pylist([{**row, "low": 0.2, "mean": mean, "high": 0.3}])
    finding = run_check("leaderboard", "mean_in_interval", {"leaderboard": board})
    assert bool(finding.problem) is not fine
