"""Rankings and contexts of toy corpora, of any size, order and question."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evidence.contexts import Budget, adaptive_contexts
from gsum_assets.evidence.network import Network, load_network
from gsum_assets.evidence.rank import EvidenceRanking, explained, rank, reasons
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import Lazy
from tests.evidence.toys import axis, random_units, sentences, tables

GRAPH, OWN = load_network("graph"), load_network("own")
TEXTS = {
    "ferry": [f"The ferry broke its pump {i}, and Ann ordered pump {i % 3}." for i in range(9)],
    "mill": [f"The mill at landing {i} ground flour in May." for i in range(5)],
}
VECTORS = random_units(14)
BUDGET = Budget(12, 60, 6, 0)


def spoken(ids: list[str], speaker: str = "Ann") -> pa.Table:
    rows = [(chunk_id, i, speaker, 5 + i) for chunk_id in ids for i in range(3)]
    return sentences(rows, list(random_units(len(rows), seed=1)))


def ranked(
    texts: list[str],
    documents: list[str | None] | None = None,
    network: Network = GRAPH,
    n: int = 200,
    prose: Network | None = None,
    speaker: str = "Ann",
) -> EvidenceRanking:
    parts = list(tables(TEXTS, VECTORS))
    parts.append(spoken(parts[1]["chunk_id"].to_pylist(), speaker))
    ids = [f"q{i}" for i in range(len(texts))]
    vectors = random_units(len(texts), seed=2)
    questions = Questions(ids, texts, documents or [None] * len(texts), vectors)
    collection = Collection.from_tables(*parts[:3])
    index = SentenceIndex.of_rows(parts[3])
    return rank(collection, index, questions, texts, network, Words(), n, lambda: 0.0, prose)


def ranked_in(
    parts: Sequence[pa.Table], index: SentenceIndex, questions: Questions
) -> EvidenceRanking:
    """The passages of documents, chunks and embeddings."""
    collection = Collection.from_tables(*parts)
    return rank(collection, index, questions, questions.texts, GRAPH, Words(), 200)


@pytest.mark.parametrize("network", [GRAPH, OWN])
def test_every_passage_of_the_scope_is_ranked(network: Network) -> None:
    found = ranked(["Who broke the pump?", "Who ground flour?"], [None, "mill"], network)
    rows = found.probabilities.to_pylist()
    assert [row["rank"] for row in rows] == [*range(1, 15), *range(1, 6)]
    assert all(row["chunk_id"].startswith("mill") for row in rows[14:])
    nodes = [row for row in found.rankings.to_pylist() if row["level"] == "node"]
    for row, node in zip(rows, nodes, strict=True):
        assert (row["chunk_id"], row["probability"]) == (node["item_id"], node["score"])
    best = {row["item_id"]: row["score"] for row in found.rankings.to_pylist()[:2]}
    assert best[rows[0]["chunk_id"][:-6]] == rows[0]["probability"]


def asked(*texts: str, scopes: Sequence[str | None] | None = None) -> pa.Table:
    """Rows of `queries` about documents, or all of them."""
    ids = [f"q{i}" for i in range(len(texts))]
    documents = pa.array(scopes or [None] * len(texts), pa.string())
    return pa.table({"query_id": ids, "document_id": documents, "text": list(texts)})


@pytest.mark.parametrize(
    "text",
    ["Why?", "pump", "the of", "¿Quién pidió la bomba del ferri?", "谁弄坏了泵?", "w " * 300],
)
def test_any_question_is_answered(text: str) -> None:
    found = ranked([text])
    values = found.probabilities["probability"].to_numpy()
    assert np.isfinite(values).all()
    queries = asked(text)
    contexts = adaptive_contexts(queries, found, Lazy.of(tables(TEXTS, VECTORS)[1]), BUDGET)
    assert 1 <= contexts.num_rows <= 6
    assert contexts["rank"].to_pylist() == list(range(1, contexts.num_rows + 1))


def test_question_over_documents_reads_as_many_passages_as_baselines() -> None:
    texts = {"a": ["pump", "boat"], "b": ["tree", "rain"]}
    _, chunks, _ = tables(texts, random_units(4, 4))
    ids = chunks["chunk_id"].to_pylist()
    probabilities = pa.table(
        {"query_id": ["q0"] * 4, "rank": range(1, 5), "chunk_id": ids}
        | {"probability": [0.9, 0.01, 0.01, 0.01]}
    )
    ranked = probabilities.select(["query_id", "rank"]).to_pydict()
    ranked |= {"level": ["node"] * 4, "item_id": ids, "latency_s": [0.0] * 4}
    ranked["score"] = probabilities["probability"].to_pylist()
    rankings = pa.Table.from_pydict(ranked, TABLES["rankings"].schema)
    found = EvidenceRanking(rankings, probabilities)
    budget = BUDGET._replace(k=3)
    over_all = adaptive_contexts(asked("Who broke the pump?"), found, Lazy.of(chunks), budget)
    assert over_all["node_id"].to_pylist() == ids[:3]
    of_one = asked("Who broke the pump?", scopes=["a"])
    assert (
        adaptive_contexts(of_one, found, Lazy.of(chunks), budget)["node_id"].to_pylist() == ids[:1]
    )
    column = chunks.column_names.index("document_id")
    alone = chunks.set_column(column, "document_id", pa.array(["a"] * 4))
    whole = adaptive_contexts(asked("Who broke the pump?"), found, Lazy.of(alone), budget)
    assert whole["node_id"].to_pylist() == ids[:1]


def test_one_passage_without_a_sentence() -> None:
    parts = tables({"a": ["Only this."]}, axis(1, 0)[None])
    questions = Questions(["q0"], ["Only?"], ["a"], axis(0, 1)[None])
    found = ranked_in(parts, SentenceIndex([]), questions)
    assert found.rankings["item_id"].to_pylist() == ["a", "a-00000"]
    contexts = adaptive_contexts(asked("Only?"), found, Lazy.of(parts[1]), BUDGET)
    assert contexts["text"].to_pylist() == ["Only this."]


def test_general_questions_read_the_most_similar_passages() -> None:
    text = "Summarize the whole meeting."
    found = ranked([text], ["ferry"])
    nodes = found.rankings.filter(pc.equal(found.rankings["level"], "node"))
    chunks = tables(TEXTS, VECTORS)[1]
    cosine = VECTORS[:9] @ random_units(1, seed=2)[0]  # of the ferry's passages, first in TEXTS
    expected = [chunks["chunk_id"][i].as_py() for i in np.argsort(-cosine).tolist()]
    assert nodes["item_id"].to_pylist() == expected
    queries = asked(text)
    budget = Budget(12, 1000, 3, 8)  # word pieces; the ferry has 9 passages of one or more
    contexts = adaptive_contexts(queries, found, Lazy.of(chunks), budget)
    assert contexts["node_id"].to_pylist() == expected[:3]


def test_general_questions_read_everything_that_fits() -> None:
    texts = ["Summarize the whole meeting.", "What happens?", "Who broke the pump?"]
    found = ranked(texts, ["ferry", None, "ferry"])
    chunks = tables(TEXTS, VECTORS)[1]
    queries = asked(*texts, scopes=["ferry", None, "ferry"])
    size = {
        name: sum(r["n_tokens"] for r in chunks.to_pylist() if r["document_id"] == name)
        for name in TEXTS
    }
    budget = Budget(12, 1000, 3, size["ferry"])
    contexts = adaptive_contexts(queries, found, Lazy.of(chunks), budget)
    read: dict[str, list[str]] = {}
    for row in contexts.sort_by([("query_id", "ascending"), ("rank", "ascending")]).to_pylist():
        read.setdefault(row["query_id"], []).append(row["node_id"])
    assert read["q0"] == [f"ferry-{i:05}" for i in range(len(TEXTS["ferry"]))]
    assert len(read["q1"]) == 3  # all documents together are longer
    assert read["q2"] != read["q0"]
    said = pa.array([f"Ann: {text}" for text in chunks["text"].to_pylist()])
    transcript = chunks.set_column(chunks.schema.get_field_index("text"), "text", said)
    similar = adaptive_contexts(queries, found, Lazy.of(transcript), budget)
    assert similar["query_id"].to_pylist().count("q0") == 3
    never = adaptive_contexts(queries, found, Lazy.of(chunks), budget._replace(whole_tokens=0))
    assert never["query_id"].to_pylist().count("q0") == 3


def test_an_unknown_passage_is_named() -> None:
    found = ranked(["Who?"], ["mill"])
    queries = asked("Who?")
    chunks = tables({"ferry": TEXTS["ferry"]}, VECTORS[:9])[1]
    with pytest.raises(ValueError, match=r"ranked chunks are not in the corpus .*'mill-0000"):
        adaptive_contexts(queries, found, Lazy.of(chunks), BUDGET)


def test_vectors_of_another_model_are_refused() -> None:
    documents, chunks, embedded = tables(TEXTS, VECTORS)
    questions = Questions(["q0"], ["Who?"], [None], random_units(1))
    other = sentences([("mill-00000", 0, "", 3)], [axis(1, 0)])
    with pytest.raises(ValueError, match=r"8 dimensions, sentence vectors 2; materialize"):
        rank(
            Collection.from_tables(documents, chunks, embedded),
            SentenceIndex.of_rows(other),
            questions,
            questions.texts,
            GRAPH,
            Words(),
            200,
        )


def test_without_questions_there_are_no_rankings() -> None:
    documents, chunks, embedded = tables(TEXTS, VECTORS)
    none = Questions([], [], [], np.empty((0, 0), np.float32))  # of a table without rows
    index = SentenceIndex.of_rows(sentences([("mill-00000", 0, "", 3)], [axis(1, 0)]))
    collection = Collection.from_tables(documents, chunks, embedded)
    assert rank(collection, index, none, [], GRAPH, Words(), 200).rankings.num_rows == 0


def test_prose_is_judged_by_the_model_for_prose() -> None:
    texts, documents = ["Who broke the pump?", "Who ground flour?"], ["ferry", "mill"]
    for speaker, expected in (("", OWN), ("Ann", GRAPH)):
        found = ranked(texts, documents, GRAPH, prose=OWN, speaker=speaker)
        assert found == ranked(texts, documents, expected, speaker=speaker)


def test_a_reason_is_the_probability_lost_without_a_feature() -> None:
    weights = {
        "input.weight": np.array([[[1.0, 1.0, 0.0]]]),
        "input.bias": np.zeros((1, 1)),
        "output.weight": np.ones((1, 1, 1)),
        "output.bias": np.zeros((1, 1)),
    }
    names = ["dense", "dense: gap", "BM25"]
    network = Network(names, np.zeros(3), np.ones(3), weights)
    scaled = np.array([[1.0, 1.0, 5.0], [0.0, 0.0, 5.0]], np.float32)
    found = network.probabilities(scaled, [])
    expected = [["dense +0.38"], []]  # sigmoid(2) - 0.5
    for chosen in ([0, 1], [1, 0], [1]):
        because = reasons(network, scaled, [], found, np.array(chosen))
        assert because == [expected[passage] for passage in chosen]


def test_the_explanation_names_every_passage_read() -> None:
    found = ranked(["Who broke the pump?"])
    queries = asked("Who broke the pump?")
    contexts = adaptive_contexts(queries, found, Lazy.of(tables(TEXTS, VECTORS)[1]), BUDGET)
    text = explained(found.probabilities, contexts)
    assert text.startswith(f"passages read: {contexts.num_rows} of 14 judged")
    for row in contexts.to_pylist():
        assert f"passage {row['position']} ({row['node_id']}): " in text
