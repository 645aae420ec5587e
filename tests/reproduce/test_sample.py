"""The authors' sample: drawn by a seed, filtered by length, a question for each reference."""

import pytest

from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.corpus.load import Document
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.reproduce.sample import Sample, sampled


def contents(splits: dict[str, int], n_words: int = 5, references: int = 1) -> Contents:
    made = Contents()
    for split, n in splits.items():
        for i in range(n):
            document_id = f"{split}-{i}"
            made.documents.append(Document(document_id, "", "word " * (n_words + i)))
            for kind in ("general", "specific"):
                answers = [f"answer {number}" for number in range(references)]
                made.ask(
                    f"{document_id}-{kind}",
                    "What?",
                    answers,
                    split=split,
                    kind=kind,
                    document_id=document_id,
                )
    return made


def test_documents_of_each_split_are_drawn_by_the_seed() -> None:
    source = contents({"train": 9, "test": 5, "dev": 2})
    sample = Sample(kinds=["general"], n={"train": 3, "test": 2}, seed=1)
    drawn = sampled(source, sample)
    assert [d.document_id.split("-")[0] for d in drawn.documents] == ["train"] * 3 + ["test"] * 2
    assert {query.kind for query in drawn.queries} == {"general"}
    assert drawn.documents == sampled(source, sample).documents
    other = sampled(source, sample.model_copy(update={"seed": 2}))
    assert other.documents != drawn.documents
    assert "train: 3 of 9 drawn by seed 1" in drawn.notes


def test_dev_stands_in_for_a_test_split_that_is_missing_and_says_so() -> None:
    drawn = sampled(contents({"train": 1, "dev": 3}), Sample(n={"train": 0, "test": 2}))
    assert [query.split for query in drawn.queries].count("dev") == 4  # two kinds of two documents
    assert any("no answered questions of test; those of dev" in note for note in drawn.notes)


def test_short_documents_are_left_out() -> None:
    drawn = sampled(contents({"test": 4}, n_words=5), Sample(min_words=7))
    assert [d.document_id for d in drawn.documents] == ["test-2", "test-3"]
    assert "2 documents of fewer than 7 words left out" in drawn.notes


def test_with_one_reference_rows_are_drawn_and_not_documents() -> None:
    source = contents({"test": 3}, references=3)
    sample = Sample(kinds=["general"], one_reference=True, n={"test": 4})
    drawn = sampled(source, sample)
    assert len(drawn.queries) == 4
    assert {len(query.references) for query in drawn.queries} == {1}
    assert len({query.query_id for query in drawn.queries}) == 4
    assert {d.document_id for d in drawn.documents} == {q.document_id for q in drawn.queries}


def test_documents_of_questions_on_a_whole_collection_all_stay() -> None:
    source = contents({"dev": 3})
    source.queries.clear()
    source.ask("q1", "What?", ["a"], split="dev", relevant_document_ids=["dev-1"])
    source.ask("q2", "What?", ["a"], split="train", relevant_document_ids=["dev-2"])
    drawn = sampled(source, Sample(n={"dev": 0}))
    assert [query.query_id for query in drawn.queries] == ["q1"]
    assert drawn.documents == source.documents


def test_generated_questions_replace_those_of_the_benchmark() -> None:
    source = contents({"test": 2})
    drawn = sampled(source, Sample(questions=False))
    assert (drawn.queries, drawn.documents) == ([], source.documents)


def test_an_empty_sample_names_its_conditions() -> None:
    with pytest.raises(CorpusError, match=r"no question is left of 4: .* at least 90 words"):
        sampled(contents({"test": 2}), Sample(min_words=90))
