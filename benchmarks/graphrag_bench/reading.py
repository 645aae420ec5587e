"""Scores of a method's contexts and answers, and plain retrieval of equal length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.graphrag_bench.home import CORPUS, PLAIN, rows_of
from gsum_assets.corpus.chunk import default_tokenizer, n_word_pieces
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.vectors import vectors_of
from gsum_assets.retrieval.words import Words
from gsum_assets.tables import TABLES
from gsum_assets.workspace import Workspace
from gsum_resources.arrow import pc
from gsum_resources.llm.ledger import Ledger


@dataclass(frozen=True)
class Answered:
    """Contexts that a method read for a question, and its answer.

    Attributes
    ----------
    rouge_l, coverage : from 0 to 1.
    read : tokens of the texts that the answer depends on.
    calls, tokens_in : of all requests to the language model for this question.
    """

    rouge_l: float
    coverage: float
    read: int
    calls: int = 1
    tokens_in: int = 0


Column = Mapping[str, Answered]  # a method's questions, by id


class Scorer:
    """Scores answers and what they were written from against the references."""

    def __init__(self, queries: Sequence[Mapping]) -> None:
        self.references = {row["query_id"]: row["references"] for row in queries}
        self._words = Words()

    def coverage(self, query_id: str, texts: Sequence[str]) -> float:
        """Return the share of the reference's content words that the texts hold."""
        wanted = set(self._words.terms(" ".join(self.references[query_id])))
        held = {term for text in texts for term in self._words.terms(text)}
        return len(wanted & held) / len(wanted) if wanted else 1.0

    def score(self, answers: pa.Table, read: Mapping[str, Sequence[str]]) -> dict[str, Answered]:
        """Return each question's scores; one without an answer has 0 ROUGE-L.

        Parameters
        ----------
        answers : rows of `summaries`.
        read : by question, the texts that the answer depends on; these questions are scored.
        """
        given = {row["query_id"]: row for row in answers.to_pylist()}
        found = {}
        for query_id in self.references.keys() & read.keys():
            texts, row = read[query_id], given.get(query_id)
            found[query_id] = Answered(
                rouge(row["text"], self.references[query_id])["rougeL"] if row else 0.0,
                self.coverage(query_id, texts),
                sum(n_word_pieces(texts)),
                row["calls"] if row else 0,
                row["tokens_in"] if row else 0,
            )
        return found


class PlainReader:
    """Plain retrieval that reads as many tokens as it is allowed."""

    def __init__(self, workspace: Workspace, scorer: Scorer) -> None:
        self._scorer = scorer
        self._queries = rows_of(workspace, "queries")
        ledger = Ledger(workspace.store, TABLES["llm_calls"], CORPUS, "benchmark")
        self._model = workspace.models.language_model(ledger)
        self._max_words = workspace.section(CORPUS, "answer")["max_words"]
        chunks = rows_of(workspace, "chunks")
        self._chunks = {row["chunk_id"]: row for row in chunks.to_pylist()}
        self._ranked = full_rankings(workspace, self._queries, chunks)

    def answer(
        self, name: str, budgets: Mapping[str, int], is_answered: bool
    ) -> dict[str, Answered]:
        """Read the best passages of a retriever, `budgets` tokens of them, and answer.

        Parameters
        ----------
        budgets : tokens by question; no other question is read for.
        is_answered : whether answers are scored; without them ROUGE-L is 0.
        """
        rows, read = [], {}
        for query_id, budget in budgets.items():
            passages = [self._chunks[i] for i in self._ranked[name].get(query_id, ())]
            texts = within([row["text"] for row in passages], budget)
            read[query_id] = texts
            for rank, (row, text) in enumerate(zip(passages, texts, strict=False), start=1):
                rows.append(
                    {
                        "query_id": query_id,
                        "sample": 0,
                        "rank": rank,
                        "node_id": row["chunk_id"],
                        "node_kind": "chunk",
                        "document_id": row["document_id"],
                        "position": row["position"],
                        "score": 0.0,
                        "text": text,
                    }
                )
        if not is_answered:
            return self._scorer.score(TABLES["summaries"].empty(), read)
        contexts = pa.Table.from_pylist(rows, TABLES["contexts"].schema)
        queries = self._queries.filter(
            pc.is_in(self._queries["query_id"], value_set=pa.array(list(budgets)))
        )
        answers = answer_questions(queries, contexts, self._model, self._max_words)
        return self._scorer.score(answers.rows, read)


def full_rankings(
    workspace: Workspace, queries: pa.Table, chunks: pa.Table
) -> dict[str, dict[str, list[str]]]:
    """Return all chunks by retriever and question, best first.

    The stored rankings end at a depth; some methods read more.
    """
    tables = (rows_of(workspace, "documents"), chunks, rows_of(workspace, "chunk_embeddings"))
    embedded = rows_of(workspace, "query_embeddings")
    vectors = vectors_of(embedded, queries["query_id"].to_pylist(), "query")
    return {
        name: ranked_chunks(name, Collection.from_tables(*tables), queries, vectors)
        for name in PLAIN
    }


def ranked_chunks(
    name: str, collection: Collection, queries: pa.Table, vectors: np.ndarray
) -> dict[str, list[str]]:
    """Return all chunks of a collection by question, best first."""
    questions = Questions.from_table(queries, vectors)
    depth = len(collection.chunk_ids)
    build = RETRIEVERS[name]
    rows = rank_questions(lambda scope: build(scope, Words()), questions, collection, depth)
    ranked: dict[str, list[str]] = {}
    for row in rows.filter(pc.equal(rows["level"], "node")).sort_by("rank").to_pylist():
        ranked.setdefault(row["query_id"], []).append(row["item_id"])
    return ranked


def within(texts: Sequence[str], budget: int) -> list[str]:
    """Return the first texts that `budget` word pieces hold, the last one cut to fit."""
    kept = []
    for text in texts:
        if budget <= 0:
            break
        offsets = default_tokenizer().encode(text, add_special_tokens=False).offsets
        if offsets:
            kept.append(text[: offsets[min(budget, len(offsets)) - 1][1]])
            budget -= len(offsets)
    return kept
