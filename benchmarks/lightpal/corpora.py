"""The corpora of ODSum and QMSum val with the tables of LightPAL's index.

Documents of ODSum are sections of stories, or transcripts of meetings; nothing but their texts is
read. They are cut by the default settings and embedded by the default embedder, a few minutes;
vectors are kept in the system's folder for temporary files.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import NamedTuple

import pyarrow as pa

from benchmarks import required
from benchmarks.odsum import embedded, load, query_vectors
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.settings import ChunkingSettings, CorpusSettings
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.rank import Tables
from gsum_assets.lightpal.settings import LightpalSettings
from gsum_assets.lightpal.variants import PASSAGE_WALK, VARIANTS
from gsum_assets.lightpal.walk_trust import walk_trust
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.scoring.unigram import UnigramScorer

CHUNKING = ChunkingSettings()
LANGUAGE = "en"
SETTINGS = LightpalSettings()


class Indexed(NamedTuple):
    """A corpus, its index and its questions; `queries` are the rows behind `questions`.

    `evidence` has the chunks that hold each question's marked evidence, where the source marks it.
    """

    collection: Collection
    tables: Tables
    questions: Questions
    queries: list[Query]
    evidence: Sequence[Sequence[str]] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Of the documents, by id."""
        return dict(zip(self.collection.document_ids, self.collection.document_texts, strict=True))

    @property
    def trust(self) -> str:
        """In the walk, for notes."""
        rows = self.tables.walk_trust.to_pylist()
        return ", ".join(f"{row['level']} in {row['scope']} {row['trust']:.2f}" for row in rows)


@cache
def indexed(corpus: str) -> Indexed:
    """'story' or 'meeting', by the default settings.

    Raises
    ------
    MissingDataError
        If the corpus is not there.
    """
    window = CHUNKING.max_tokens, CHUNKING.overlap_tokens
    collection, questions, queries = load(*window, corpus)
    return Indexed(collection, _tables(collection), questions, queries)


@cache
def meetings_with_evidence() -> Indexed:
    """QMSum val, whose questions are about one meeting each, and have their evidence marked.

    Raises
    ------
    MissingDataError
        If QMSum is not there.
    """
    contents = read_qmsum(required("qmsum", "val.jsonl.gz"))
    settings = CorpusSettings(chunking=CHUNKING)
    chunks = [
        asdict(one) for one in chunk_documents(contents.documents, settings, default_tokenizer())
    ]
    collection = embedded(contents.documents, chunks)
    rows, _ = query_rows(contents.queries, pa.Table.from_pylist(chunks))
    questions = Questions.from_table(rows, query_vectors(rows["retrieval_text"].to_pylist()))
    evidence = rows["relevant_chunk_ids"].to_pylist()
    return Indexed(collection, _tables(collection), questions, contents.queries, evidence)


def _tables(collection: Collection) -> Tables:
    found = candidates(collection, SETTINGS.graph.n_candidates)
    scores = context_scores(found, collection, UnigramScorer())
    edges = passage_edges(found, scores, collection, SETTINGS.graph.n_edges)
    walked = PassageGraphs.of(edges, VARIANTS[PASSAGE_WALK].graph, both_ways=True)
    trust = walk_trust(collection, walked, LANGUAGE, SETTINGS.walk)
    return Tables(edges, trust)
