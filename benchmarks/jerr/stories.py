"""SQuALITY as JERR indexes it: the graph of each split's stories, and which chunk answers what.

The source marks no evidence, so the line chunk that holds an answer is the one that BM25 finds for
the question's four reference answers together, among the line chunks of its story. Questions for
the whole plot have none, and are left out.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import required
from gsum_assets.corpus.chunk import Chunk, chunk_documents, default_tokenizer
from gsum_assets.corpus.importers.squality import read_squality
from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import ChunkingSettings, CorpusSettings
from gsum_assets.jerr.extract import OUTPUT_TABLES, extract
from gsum_assets.jerr.graph import Graph, graph_of
from gsum_assets.jerr.keywords import ask_keywords
from gsum_assets.jerr.matches import SearchSpace
from gsum_assets.jerr.merge import merge_elements
from gsum_assets.jerr.settings import IndexSettings
from gsum_assets.jerr.synopses import synopses
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.words import Words
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import LanguageModel

WORDS = Words()


@dataclass(frozen=True)
class Stories:
    """A split, indexed.

    Attributes
    ----------
    chunks : line chunks.
    questions : those about something in particular, each with what holds its answer, a chunk_id.
    tables : rows of `jerr.synopses`, `jerr.atomic_facts`, `jerr.elements`, `jerr.relations` and
        `jerr.keywords`, by the name's second part.
    """

    chunks: Sequence[Chunk]
    questions: Mapping[str, tuple[Query, str]]
    tables: Mapping[str, pa.Table]

    @cached_property
    def graph(self) -> Graph:
        """Nodes and edges."""
        elements, facts, relations = (
            self.tables[name] for name in ("elements", "atomic_facts", "relations")
        )
        merges = merge_elements(elements, IndexSettings().near_bits)
        return graph_of(elements, facts, relations, merges)

    @cached_property
    def space(self) -> SearchSpace:
        """Return the search space."""
        line_chunks = rows_of(TABLES["chunks"], self.chunks, "squality")
        return SearchSpace(self.graph.nodes, self.graph.edges, line_chunks, WORDS)

    @property
    def queries(self) -> pa.Table:
        """Rows of `queries`."""
        return _rows([query for query, _ in self.questions.values()])


def load(split: str, max_tokens: int, settings: IndexSettings | None = None) -> Stories:
    """The stories of 'train' or 'dev', indexed with the extractive model.

    What the model replied is kept in the system's folder for temporary files.

    Parameters
    ----------
    max_tokens : size of the line chunks, word pieces.

    Raises
    ------
    MissingDataError
        If the split is not there.
    """
    contents = read_squality(required("squality", f"{split}.jsonl.gz"))
    chunking = ChunkingSettings(chunker="lines", max_tokens=max_tokens, borders="length")
    chunks = chunk_documents(
        contents.documents, CorpusSettings(chunking=chunking), default_tokenizer()
    )
    own = [query for query in contents.queries if query.kind == "specific"]
    questions = {
        q.query_id: (q, chunk_id) for q, chunk_id in zip(own, _answers(own, chunks), strict=True)
    }
    settings = settings or IndexSettings()
    return Stories(chunks, questions, _keywords_of(chunks, own, settings))


def _answers(queries: Sequence[Query], chunks: Sequence[Chunk]) -> list[str]:
    """The line chunk that holds each question's answer."""
    by_story: dict[str | None, list[Chunk]] = {}
    for chunk in chunks:
        by_story.setdefault(chunk.document_id, []).append(chunk)
    indexes = {
        story: Bm25Index([chunk.text for chunk in own], Bm25Settings())
        for story, own in by_story.items()
    }
    found = []
    for query in queries:
        (scores,) = indexes[query.document_id].scores([" ".join(query.references)])
        found.append(by_story[query.document_id][int(scores.argmax())].chunk_id)
    return found


def _keywords_of(
    chunks: Sequence[Chunk], queries: Sequence[Query], settings: IndexSettings
) -> Mapping[str, pa.Table]:
    model = _model()
    texts = [model.identity, repr(settings), *(chunk.text for chunk in chunks)]
    folder = Path(tempfile.gettempdir()) / f"gsum-squality-{hash_texts(texts, 8)}"
    names = ("synopses", *OUTPUT_TABLES, "keywords")
    if not all((folder / f"{name}.parquet").exists() for name in names):
        rows = rows_of(TABLES["chunks"], chunks, "squality")
        summarized = synopses(rows, model, settings)
        extracted = extract(summarized.rows, model, settings)
        keywords = ask_keywords(_rows(queries), model)
        folder.mkdir(exist_ok=True)
        for name, table in {
            "synopses": summarized.rows,
            OUTPUT_TABLES[0]: extracted.rows,
            **extracted.beside,
            "keywords": keywords.rows,
        }.items():
            pq.write_table(table, folder / f"{name}.parquet")
    return {name: pq.read_table(folder / f"{name}.parquet") for name in names}


def _rows(queries: Sequence[Query]) -> pa.Table:
    rows = [
        {
            **{
                name: getattr(query, name)
                for name in vars(query)
                if name in TABLES["queries"].schema.names
            },
            "relevant_chunk_ids": [],
        }
        for query in queries
    ]
    return pa.Table.from_pylist(rows, TABLES["queries"].schema)


@lru_cache(maxsize=1)
def _model() -> LanguageModel:
    return ExtractiveModel(LocalEmbedder())
