"""What `evidence-finetuned` learns from, and when it keeps the packaged weights."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evidence import training
from gsum_assets.evidence.learn import (
    MARKED,
    PACKAGED,
    Lessons,
    examples_of,
    learnt,
    marked_questions,
    model_rows,
)
from gsum_assets.evidence.network import Network, packed
from gsum_assets.evidence.rank import ALL
from gsum_assets.evidence.settings import TrainingSettings
from gsum_assets.evidence.training import Example, average_precision, fine_tune, folds_of
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_resources.store.checkpoints import learnt_hash
from tests.evidence.toys import random_units, sentences, tables

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


def lesson(*documents: str | None) -> Lessons:
    """Return one question about each of these documents."""
    ids = [f"q{i}" for i in range(len(documents))]
    questions = Questions(ids, ["a boat?"] * len(ids), documents, random_units(len(ids)))
    marks = dict.fromkeys(ids, frozenset({"ferry-00001", "mill-00000"}))
    return Lessons(questions, questions.texts, marks)


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
    recipe = training.Recipe(hidden=4, layers=0, dropout=0.0)
    monkeypatch.setattr(training, "Recipe", lambda **own: replace(recipe, **own))


def test_only_marks_of_the_split_are_read() -> None:
    rows = [
        ("a", "ferry", "train", ["ferry-00000"]),
        ("b", "ferry", "train", []),
        ("c", "ferry", "dev", ["ferry-00001"]),
        ("d", None, "test", ["mill-00000"]),
        ("e", "mill", None, ["mill-00001"]),
    ]
    found = marked_questions(*queries(*rows), None)
    assert found.questions.ids == ["a"]
    assert found.evidence == {"a": {"ferry-00000"}}
    assert marked_questions(*queries(*rows), "dev").questions.ids == ["c"]
    assert not marked_questions(*queries(*rows[1:]), None).texts
    assert not marked_questions(*queries(), None).texts
    with pytest.raises(ValueError, match=r"split = 'val': .*splits: dev, test, train"):
        marked_questions(*queries(*rows), "val")


def test_the_same_questions_are_taken_of_too_many() -> None:
    def taken(n: int, most: int) -> list[str]:
        rows = [(f"q{i}", "ferry", "train", ["ferry-00000"]) for i in range(n)]
        found = marked_questions(*queries(*rows), None, most)
        assert len(found.questions) == len(found.texts) == min(n, most)
        return list(found.questions.ids)

    assert taken(9, 9) == [f"q{i}" for i in range(9)]
    assert taken(9, 4) == sorted(taken(9, 4))
    assert len({*taken(9, 4), *taken(10, 4)}) <= 5  # one more question replaces one at most


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
    assert by_group["ferry"].features.shape == (3, len(ALL))
    assert len(by_group["ferry"].edges) == 5
    assert lessons.documents(collection) == {"ferry", "mill"}
    assert lesson("mill", "deleted").documents(collection) == {"mill"}


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


@pytest.mark.usefixtures("small_layers")
def test_training_is_reproducible_and_raises_held_out_precision() -> None:
    examples, wrong = toys(30), toy_network(-1.0)
    network, log = fine_tune(examples, wrong, SETTINGS)
    again, _ = fine_tune(examples, wrong, SETTINGS)
    assert packed(network) == packed(again)
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
    few = learnt(toys(3), wrong, SETTINGS)
    assert (few.n_questions, few.log) == (0, [])
    assert few.network is wrong
    assert "3 questions of the split 'train' have marked evidence, fewer than 4" in few.summary
    assert "mark evidence (relevant_spans) of more" in few.summary
    without = [replace(example, is_evidence=np.zeros(6, bool)) for example in toys(9)]
    assert learnt([*without, *toys(3)], wrong, SETTINGS).summary == few.summary
    useless = learnt(toys(9), right, SETTINGS)  # all evidence was found before
    assert (useless.n_questions, len(useless.log)) == (0, 13)
    assert useless.network is right
    assert "does not help" in useless.summary
    better = learnt(toys(30), wrong, SETTINGS)
    assert better.n_questions == 30
    assert "held-out documents" in better.summary


@pytest.mark.usefixtures("small_layers")
def test_a_model_names_its_documents_by_hashes_alone() -> None:
    better = learnt(toys(30), toy_network(-1.0), SETTINGS)
    model, log = model_rows(better, {"mill", "ferry"}, SETTINGS, "hash-8")
    (row,) = model.to_pylist()
    assert row["learnt_from"] == sorted([learnt_hash("mill"), learnt_hash("ferry")])
    assert (row["data"], row["n_questions"], row["embedding_model"]) == (MARKED, 30, "hash-8")
    assert log["epoch"].to_pylist() == list(range(13))
    model, log = model_rows(learnt(toys(3), toy_network(), SETTINGS), {"mill"}, SETTINGS, "hash-8")
    (row,) = model.to_pylist()
    assert (row["data"], row["learnt_from"], log.num_rows) == (PACKAGED, [], 0)
