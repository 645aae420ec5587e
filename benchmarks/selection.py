"""Which reports, or passages, a question about a whole collection should read.

    python -m benchmarks.selection --home HOME --corpora meetings,stories [--store]

Each corpus needs the index of GraphRAG (`gsum run CORPUS --methods graphrag-c2`) and a
`queries.jsonl` with references in its folder. Its specific questions are asked of all documents,
and the embedded models answer. `dynamic` is the method `graphrag-dynamic`; the other rows but `C0`
and `C2` read as much as one prompt holds, too.
"""

import heapq
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.results import interval, parser_of, publish
from gsum.statistics import compare
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions, answer_room
from gsum_assets.evaluation.budget import lengths
from gsum_assets.evaluation.passages import Choose, Passage, context_rows
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.evaluation.statements import LEAST_STEMS, SAME_CLAIM, claims_of
from gsum_assets.graphrag.contexts import all_reports, chunk_passage, within
from gsum_assets.graphrag.index_tables import Index
from gsum_assets.graphrag.map_reduce import partial_answers, reduced_contexts
from gsum_assets.graphrag.selection import relevant_reports
from gsum_assets.graphrag.settings import AnswerSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import Retriever
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.text.vocabulary import content_stems

WORDS = 150  # of an answer
SETTINGS = AnswerSettings()
COLUMNS = (  # key, scale and decimals
    *(("tokens", 1, 0), ("requests", 1, 1), ("claims", 1, 2)),
    *(("coverage", 100, 1), ("rouge1", 100, 1)),
)
HEADER = ["read", "tokens", "% of corpus", "requests", "claims", "difference"]
HEADER += ["coverage", "difference", "ROUGE-1", "difference"]
Scores = Mapping[str, Mapping[str, float]]
"""By question: tokens read, requests, distinct claims, share of the reference's words, ROUGE-1."""


class Indexed:
    """A corpus with its index and its questions."""

    def __init__(self, home: Path, corpus: str, n_questions: int) -> None:
        self._store = ParquetStore(str(home / "warehouse"))
        self._corpus = corpus
        names = [f"graphrag.{field.name}" for field in fields(Index)]
        self.index = Index(*map(self._table, names))
        columns = (
            self.index.communities[name].to_pylist() for name in ("community_id", "parent_id")
        )
        self._parents = dict(zip(*columns, strict=True))
        self.reports = {report.community_id: report for report in self.index.reports(None, None)}
        tables = map(self._table, ("documents", "chunks", "chunk_embeddings"))
        self.collection = Collection.from_tables(*tables)
        local: Any = LocalEmbedder(model="packaged")
        self.embedder = MemoizedEmbedder(local, self._store)
        self.model = ExtractiveModel(self.embedder, cache_size=200_000)
        self.queries = _questions(home / "corpora" / corpus / "queries.jsonl", n_questions)
        ids, texts = (self.queries[name].to_pylist() for name in ("query_id", "text"))
        vectors = self.embedder.embed_queries(texts)
        self.vectors = dict(zip(ids, vectors, strict=True))
        self._questions = Questions(ids, texts, [None] * len(ids), vectors)

    def _table(self, name: str) -> pa.Table:
        table = TABLES[name]
        return self._store.read(table, self._store.partitions(table, self._corpus))[0]

    def choices(self) -> Iterator[tuple[str, Choose]]:
        """Yield each choice of texts with its name."""

        def nothing(_: dict) -> Sequence[Passage]:
            return []

        yield "C2", all_reports(self.index, 2, SETTINGS.seed, nothing)
        yield "C0", all_reports(self.index, 0, SETTINGS.seed, nothing)
        yield (
            "dynamic",
            relevant_reports(self.index, self.vectors, SETTINGS, WORDS, n_word_pieces, nothing),
        )
        yield "without overlaps", self._reports(self._disjoint)
        yield "from the root downwards", self._reports(self._descend)
        yield "passages by dense", self._passages(Dense(self.collection))
        yield "passages by hybrid", self._passages(hybrid(self.collection))

    def _reports(self, order: Callable[[Mapping[str, float]], Sequence[str]]) -> Choose:
        """Return the choice of reports in an order, given their cosines, the best first."""
        reports = self.reports
        vectors = self.index.vectors("report", list(reports))
        sizes = lengths((report.text for report in reports.values()), n_word_pieces)

        def choose(query: dict) -> Sequence[Passage]:
            near = np.round(vectors @ self.vectors[query["query_id"]], 6).tolist()
            pairs = sorted(zip(reports, near, strict=True), key=lambda pair: (-pair[1], pair[0]))
            chosen = (Passage(i, "report", reports[i].text) for i in order(dict(pairs)))
            room = answer_room(query, SETTINGS.prompt_tokens, WORDS, n_word_pieces)
            return list(within(list(chosen), sizes, room.tokens, room.mark))

        return choose

    def _disjoint(self, cosines: Mapping[str, float]) -> Sequence[str]:
        """Return reports best first, without those on a part, or the whole, of an earlier one."""
        read: list[str] = []
        above_read: set[str] = set()
        for community_id in cosines:
            above = list(self._ancestors(community_id))
            if community_id not in above_read and not set(above).intersection(read):
                read.append(community_id)
                above_read.update(above)
        return read

    def _ancestors(self, community_id: str) -> Iterator[str]:
        while (parent := self._parents[community_id]) is not None:
            yield parent
            community_id = parent

    def _descend(self, cosines: Mapping[str, float]) -> Sequence[str]:
        """Return reports best first, of parents if none of their children is as similar."""
        children: dict[str | None, list[str]] = defaultdict(list)
        for community_id in cosines:
            parent = self._parents[community_id]
            children[parent if parent in cosines else None].append(community_id)
        frontier = [(-cosines[i], i) for i in children[None]]
        heapq.heapify(frontier)
        read: list[str] = []
        while frontier:
            distance, community_id = heapq.heappop(frontier)
            below = [(-cosines[i], i) for i in children[community_id]]
            if below and min(below)[0] <= distance:
                for child in below:
                    heapq.heappush(frontier, child)
            else:
                read.append(community_id)
        return read

    def _passages(self, retriever: Retriever) -> Choose:
        nodes = dict(zip(self._questions.ids, retriever.scores(self._questions).nodes, strict=True))
        chunks = {row["chunk_id"]: row for row in self._table("chunks").to_pylist()}
        sizes = lengths((row["text"] for row in chunks.values()), n_word_pieces)

        def choose(query: dict) -> Sequence[Passage]:
            order = np.argsort(-nodes[query["query_id"]], kind="stable")
            ranked = [chunk_passage(chunks[self.collection.chunk_ids[i]]) for i in order]
            room = answer_room(query, SETTINGS.prompt_tokens, WORDS, n_word_pieces)
            return list(within(ranked, sizes, room.tokens, room.mark))

        return choose

    def scores(self, choose: Choose) -> Scores:
        """Return the scores of answers from the texts that were chosen."""
        contexts = context_rows(self.queries, choose)
        mapped = partial_answers(contexts, self.queries, self.model, SETTINGS, WORDS, n_word_pieces)
        points = mapped.beside["key_points"]
        reduced = reduced_contexts(
            contexts, mapped.rows, points, self.queries, SETTINGS, WORDS, n_word_pieces
        )
        answers = answer_questions(self.queries, reduced, self.model, WORDS, retrieved=contexts)
        text_of = {row["query_id"]: row["text"] for row in answers.rows.to_pylist()}
        requests = Counter(mapped.rows["query_id"].to_pylist())
        tokens: Counter[str] = Counter()
        texts = contexts["text"].to_pylist()
        for query_id, size in zip(
            contexts["query_id"].to_pylist(), n_word_pieces(texts), strict=True
        ):
            tokens[query_id] += size
        return {
            query["query_id"]: {
                "tokens": tokens[query["query_id"]],
                "requests": 1 + requests[query["query_id"]],
                "claims": self._n_claims(text_of[query["query_id"]]),
                **_overlap(query, text_of[query["query_id"]]),
            }
            for query in self.queries.to_pylist()
        }

    def _n_claims(self, answer: str) -> int:
        return len(claims_of(answer, self.embedder.embed))

    @property
    def n_tokens(self) -> int:
        """Word pieces of all passages."""
        return sum(n_word_pieces(self.collection.chunk_texts))


def _questions(path: Path, n: int) -> pa.Table:
    """Return specific questions as rows of `queries`, about all documents."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "specific"]
    chosen = random.Random(1).sample(rows, min(n, len(rows)))
    schema = TABLES["queries"].schema

    def blank(field: pa.Field) -> Any:
        return None if field.nullable else [] if pa.types.is_list(field.type) else ""

    blanks = {field.name: blank(field) for field in schema} | {"form": "summary"}
    asked = [
        blanks | {"query_id": row["query_id"], "text": row["text"], "references": row["references"]}
        for row in chosen
    ]
    return pa.Table.from_pylist(asked, schema)


def _overlap(query: Mapping[str, Any], answer: str) -> Mapping[str, float]:
    """Return the share of the references' content words in an answer, and its ROUGE-1."""
    expected = set(content_stems(" ".join(query["references"])))
    expected -= set(content_stems(query["text"]))
    covered = expected.intersection(content_stems(answer))
    rouge1 = rouge(answer, query["references"])["rouge1"]
    return {"coverage": len(covered) / max(1, len(expected)), "rouge1": rouge1}


def measure(home: Path, corpora: Sequence[str], n_questions: int) -> Iterator[Measurement]:
    """Yield a table a corpus."""
    for corpus in corpora:
        indexed = Indexed(home, corpus, n_questions)
        scores = {name: indexed.scores(choose) for name, choose in indexed.choices()}
        rows = [
            _row(name, of_questions, scores["C2"], indexed.n_tokens)
            for name, of_questions in scores.items()
        ]
        n_documents, n_reports = len(indexed.collection.document_ids), len(indexed.reports)
        yield Measurement(
            f"{corpus}: what is read for a question about all documents",
            f"{indexed.queries.num_rows} specific questions of all {n_documents} documents "
            f"({indexed.n_tokens:,} word pieces, {n_reports} reports), answers of up to {WORDS} "
            f"words by the embedded models. A claim is a sentence of the answer with {LEAST_STEMS} "
            f"content words or more whose cosine with each earlier one is under {SAME_CLAIM}. "
            "Coverage: content words of the references, besides those of the question, that the "
            "answer has, %. Differences from C2 over the same questions with 95% intervals.",
            HEADER,
            rows,
        )


def _row(name: str, scores: Scores, baseline: Scores, n_tokens: int) -> list[str]:
    """Return the cells of a choice."""
    row = [name]
    for key, scale, decimals in COLUMNS:
        values = [scale * of_question[key] for of_question in scores.values()]
        row.append(f"{np.mean(values):,.{decimals}f}")
        if key == "tokens":
            row.append(f"{100 * np.mean(values) / n_tokens:.1f}")
        elif key != "requests":
            others = [scale * of_question[key] for of_question in baseline.values()]
            difference = interval(*compare(values, others)[:3], 1, decimals, sign="+")
            row.append("" if scores is baseline else difference)
    return row


def main() -> None:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpora", required=True)
    parser.add_argument("--questions", type=int, default=60)
    chosen = parser.parse_args()
    tables = measure(chosen.home, chosen.corpora.split(","), chosen.questions)
    publish("selection", tables, chosen.store)


if __name__ == "__main__":
    main()
