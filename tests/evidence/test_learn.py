"""What `evidence-finetuned` learns from, and when it keeps the packaged weights."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evidence.finetuning import average_precision, fine_tune
from gsum_assets.evidence.learn import (
    MARKED,
    PACKAGED,
    SIMULATED,
    Lessons,
    examples_of,
    learnt,
    marked_questions,
    model_rows,
    simulated_questions,
    with_probable,
)
from gsum_assets.evidence.network import Network
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.settings import TrainingSettings
from gsum_assets.evidence.training import Example, folds_of
from gsum_assets.evidence.weights import load_network, packed, unpacked
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_resources.store.checkpoints import learnt_hash
from tests.evidence.toys import random_units, sentences, tables
from tests.models import HashEmbedder

TEXTS = {"ferry": ["a boat", "the harbour", "a ferry"], "mill": ["a wheel", "the pump"]}
SETTINGS = TrainingSettings(epochs=12, learning_rate=0.3, least_questions=4)
SHAPES = {"input.weight": (4, 1), "input.bias": (4,), "output.weight": (1, 4), "output.bias": (1,)}


def queries(*rows: tuple[str, str | None, str | None, list[str]]) -> tuple[pa.Table, pa.Table]:
    """Return `queries` and `query_embeddings` from id, document, split and marked passages."""
    names = ("query_id", "document_id", "split", "relevant_chunk_ids")
    types = (pa.string(), pa.string(), pa.string(), pa.list_(pa.string()))
    columns = zip(*rows, strict=True) if rows else ((),) * 4
    arrays = [pa.array(own, kind) for own, kind in zip(columns, types, strict=True)]
    table = pa.table(arrays, names=list(names))
    texts = pa.array([f"What of {i}?" for i in table["query_id"].to_pylist()], pa.string())
    table = table.append_column("text", texts).append_column("retrieval_text", texts)
    vectors = vector_column(random_units(len(rows)) if rows else np.empty((0, 8)))
    return table, table.select(["query_id"]).append_column("embedding", vectors)


def simulated(*rows: tuple[str, str, str]) -> pa.Table:
    """Return rows of `gor.simulated_queries` from id, document and source."""
    names = ("query_id", "document_id", "chunk_id")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(
        [{**row, "round": i, "text": f"Who? {row['query_id']}"} for i, row in enumerate(found)]
    )


def lesson(*documents: str | None) -> Lessons:
    """Return one question about each of these documents."""
    ids = [f"q{i}" for i in range(len(documents))]
    questions = Questions(ids, ["a boat?"] * len(ids), documents, random_units(len(ids)))
    marks = dict.fromkeys(ids, frozenset({"ferry-00001", "mill-00000"}))
    return Lessons(MARKED, questions, questions.texts, marks)


def toys(n: int, sign: float = 1.0) -> list[Example]:
    """Return questions about n documents; the evidence has the largest feature, by `sign`."""
    draw = np.random.default_rng(3)
    found = []
    for i in range(n):
        features = draw.normal(size=(6, 1))
        best = np.arange(6) == (sign * features[:, 0]).argmax()
        found.append(Example(f"d{i}", features, [], best))
    return found


def toy_network(sign: float = 1.0) -> Network:
    """Return five networks that find the passage with the largest feature, or the smallest."""
    weights = {name: np.zeros((5, *shape), np.float32) for name, shape in SHAPES.items()}
    weights["input.weight"][:] = sign
    weights["input.bias"][:] = 5.0
    weights["output.weight"][:] = 0.5
    weights["output.bias"][:] = -12.0
    return Network(["x"], np.zeros(1), np.ones(1), weights)


@pytest.fixture
def small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks as small as the toys."""
    from gsum_assets.evidence import finetuning

    recipe = finetuning.Recipe(hidden=4, layers=0, dropout=0.0)
    monkeypatch.setattr(finetuning, "Recipe", lambda **own: replace(recipe, **own))


def test_only_marks_of_the_split_are_read() -> None:
    rows = [
        ("a", "ferry", "train", ["ferry-00000"]),
        ("b", "ferry", "train", []),
        ("c", "ferry", "dev", ["ferry-00001"]),
        ("d", None, "test", ["mill-00000"]),
        ("e", "mill", None, ["mill-00001"]),
    ]
    found = marked_questions(*queries(*rows), None)
    assert found is not None
    assert (found.data, found.questions.ids) == (MARKED, ["a"])
    assert found.evidence == {"a": {"ferry-00000"}}
    named = marked_questions(*queries(*rows), "dev")
    assert named is not None
    assert named.questions.ids == ["c"]
    assert marked_questions(*queries(*rows[1:]), None) is None
    assert marked_questions(*queries(), None) is None
    with pytest.raises(ValueError, match=r"split = 'val': .*splits: dev, test, train"):
        marked_questions(*queries(*rows), "val")


def test_simulated_questions_have_their_source_as_evidence() -> None:
    chunks = tables(TEXTS, random_units(5))[1]
    rows = simulated(
        ("a", "ferry", "ferry-00002"), ("b", "mill", "mill-00001"), ("c", "mill", "mill-00009")
    )
    found = simulated_questions(rows, queries()[0], chunks, None, HashEmbedder())
    assert found.data == SIMULATED
    assert found.evidence == {"a": {"ferry-00002"}, "b": {"mill-00001"}}  # the third is no more
    assert found.questions.document_ids == ["ferry", "mill"]
    split, _ = queries(("q", "mill", "train", []), ("r", "ferry", "test", []))
    assert simulated_questions(rows, split, chunks, None, HashEmbedder()).questions.ids == ["b"]
    whole, _ = queries(("q", None, "train", []))
    assert len(simulated_questions(rows, whole, chunks, None, HashEmbedder()).questions) == 2
    none = simulated_questions(rows.slice(0, 0), split, chunks, None, HashEmbedder())
    assert len(none.questions) == 0


def test_the_same_questions_are_taken_of_too_many() -> None:
    many = lesson(*["ferry"] * 9)
    few = many.at_most(4)
    assert many.at_most(9).questions.ids == many.questions.ids
    assert few.questions.ids == sorted(few.questions.ids)
    assert len(few.questions) == len(few.texts) == 4
    longer = lesson(*["ferry"] * 10).at_most(4).questions.ids
    assert len({*few.questions.ids, *longer}) <= 5  # one more question replaces one at most


def test_examples_are_judged_in_the_scope_of_their_question() -> None:
    vectors = random_units(5)
    collection = Collection.from_tables(*tables(TEXTS, vectors))
    lessons = lesson("ferry", None, "mill", "deleted")
    found = examples_of(lessons, collection, sentences([], []), Words(), 200)
    by_group = {example.group: example for example in found}
    assert set(by_group) == {"ferry", "q1", "mill"}
    marks = {group: example.is_evidence.tolist() for group, example in by_group.items()}
    assert marks == {
        "ferry": [False, True, False],
        "q1": [False, True, False, True, False],
        "mill": [True, False],
    }
    assert by_group["ferry"].features.shape == (3, len(NAMES[True]))
    assert len(by_group["ferry"].edges) == 5
    assert lessons.documents(collection) == {"ferry", "mill"}
    assert lesson("mill", "deleted").documents(collection) == {"mill"}


def test_probable_passages_are_added_to_a_source() -> None:
    example = Example("d", np.array([[3.0], [2.9], [-3.0]]), [], np.array([False, False, True]))
    (found,) = with_probable([example], toy_network())
    assert found.is_evidence.tolist() == [True, True, True]
    (same,) = with_probable([example], toy_network(-1.0))
    assert same.is_evidence.tolist() == [False, False, True]


def test_average_precision_by_hand() -> None:
    marks = np.array([True, False, True, False])
    assert average_precision(np.array([0.9, 0.8, 0.7, 0.1]), marks) == pytest.approx(
        (1 + 2 / 3) / 2
    )
    assert average_precision(np.array([0.1, 0.8, 0.7, 0.9]), marks) == pytest.approx(
        (1 / 3 + 0.5) / 2
    )


def test_every_group_is_in_one_fold() -> None:
    folds = folds_of([f"d{i % 7}" for i in range(30)], 5)
    assert sorted(folds.values()) == [0, 0, 1, 1, 2, 3, 4]
    assert folds == folds_of([f"d{i}" for i in range(7)], 5)
    assert folds != folds_of(list(folds), 5, seed=1)


@pytest.mark.usefixtures("small_layers")
def test_training_is_reproducible_and_raises_held_out_precision() -> None:
    examples, wrong = toys(30), toy_network(-1.0)
    network, log = fine_tune(examples, wrong, SETTINGS)
    again, _ = fine_tune(examples, wrong, SETTINGS)
    assert packed(network) == packed(again)
    other, _ = fine_tune(examples, wrong, SETTINGS.model_copy(update={"seed": 1}))
    assert packed(other) != packed(network)
    assert [(row.epoch, row.loss is None) for row in log] == [
        (0, True),
        *((epoch, False) for epoch in range(1, 13)),
    ]
    expected = [
        average_precision(-example.features[:, 0], example.is_evidence) for example in examples
    ]
    assert log[0].held_out_ap == pytest.approx(np.mean(expected))
    assert log[-1].held_out_ap > log[0].held_out_ap
    assert log[-1].loss < log[1].loss  # type: ignore[operator]


@pytest.mark.usefixtures("small_layers")
def test_a_network_never_sees_its_own_fold() -> None:
    """Marks of one document change all networks but the one that it is held out from."""
    examples = toys(10)
    changed = [replace(examples[0], is_evidence=~examples[0].is_evidence), *examples[1:]]
    one, two = (fine_tune(own, toy_network(), SETTINGS)[0] for own in (examples, changed))
    differs = [
        any((one.weights[name][i] != two.weights[name][i]).any() for name in SHAPES)
        for i in range(5)
    ]
    fold = folds_of([example.group for example in examples], 5)["d0"]
    assert differs == [i != fold for i in range(5)]


@pytest.mark.usefixtures("small_layers")
def test_questions_about_one_document_are_held_out_one_by_one() -> None:
    examples = [replace(example, group="only") for example in toys(7)]
    assert len(fine_tune(examples, toy_network(), SETTINGS)[1]) == 13


@pytest.mark.usefixtures("small_layers")
def test_weights_are_replaced_only_if_that_helps() -> None:
    wrong, right = toy_network(-1.0), toy_network()
    few = learnt(toys(3), wrong, SETTINGS, MARKED)
    assert (few.data, few.n_questions, few.log) == (PACKAGED, 0, [])
    assert packed(few.network) == packed(wrong)
    assert "3 marked questions to learn from, fewer than 4 (least_questions" in few.summary
    none = learnt([], wrong, SETTINGS, SIMULATED)
    assert "no question of the split 'train' has marked evidence; mark evidence" in none.summary
    simulated = SETTINGS.model_copy(update={"simulated": True, "split": "fit"})
    none = learnt([], wrong, simulated, SIMULATED)
    assert "0 simulated questions" in none.summary
    assert "of the split 'fit', or simulate questions by --methods gor" in none.summary
    useless = learnt(toys(9), right, SETTINGS, MARKED)  # all evidence was found before
    assert (useless.data, len(useless.log)) == (PACKAGED, 13)
    assert packed(useless.network) == packed(right)
    assert "does not help" in useless.summary
    better = learnt(toys(30), wrong, SETTINGS, MARKED)
    assert (better.data, better.n_questions) == (MARKED, 30)
    assert "held-out documents" in better.summary


@pytest.mark.usefixtures("small_layers")
def test_questions_without_evidence_in_their_scope_are_not_counted() -> None:
    none = [replace(example, is_evidence=np.zeros(6, bool)) for example in toys(9)]
    assert learnt([*none, *toys(3)], toy_network(), SETTINGS, SIMULATED).data == PACKAGED


@pytest.mark.usefixtures("small_layers")
def test_a_model_names_its_documents_by_hashes_alone() -> None:
    better = learnt(toys(30), toy_network(-1.0), SETTINGS, MARKED)
    model, log = model_rows(better, {"mill", "ferry"}, SETTINGS, "hash-8")
    (row,) = model.to_pylist()
    assert row["learnt_from"] == sorted([learnt_hash("mill"), learnt_hash("ferry")])
    assert (row["data"], row["n_questions"], row["embedding_model"]) == (MARKED, 30, "hash-8")
    assert log["epoch"].to_pylist() == list(range(13))
    few = learnt(toys(3), toy_network(), SETTINGS, MARKED)
    model, log = model_rows(few, {"mill"}, SETTINGS, "hash-8")
    assert model["learnt_from"].to_pylist() == [[]]
    assert log.num_rows == 0


def test_a_stored_network_is_the_packaged_one() -> None:
    packaged = load_network("graph")
    stored = unpacked(packed(packaged))
    assert list(stored.names) == list(packaged.names)
    assert packed(stored) == packed(packaged)
    scaled = packaged.scaled(np.random.default_rng(0).normal(size=(3, len(packaged.names))))
    edges = [np.full((3, 1), -1)] * 5
    found = stored.probabilities(scaled, edges)
    assert found.tolist() == packaged.probabilities(scaled, edges).tolist()
