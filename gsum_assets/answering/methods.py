"""Which methods can answer a question, and which one does where none is named.

`OF_ONE_DOCUMENT` and `OF_A_CORPUS` are the rule; `docs/asking.md` has the measurements behind it.
"""

from collections.abc import Sequence

import pyarrow as pa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.find import find_corpus
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_assets.retrieval.answerability import PACKAGED
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_resources.store.lineage import Lineage

LEXICAL = "bm25"
"""Needs no vectors, so that it answers while those of a new corpus are being computed."""

_LEARNT = "evidence"
_VECTORS = "chunk_embeddings"
OF_ONE_DOCUMENT = (_LEARNT, "passage_walk", DEFAULT_METHOD, LEXICAL)
OF_A_CORPUS = ("passage_walk", _LEARNT, DEFAULT_METHOD, LEXICAL)
"""The first that has its index in all corpora answers. `evidence` was learnt with the packaged
embedder and is skipped with any other."""


def chosen_method(workspace: Workspace, corpora: Sequence[str], in_document: bool = False) -> str:
    """Return the method by which corpora are asked if none is named.

    Without the index of any it is `DEFAULT_METHOD`, whose error then says what to run.
    """
    for name in OF_ONE_DOCUMENT if in_document else OF_A_CORPUS:
        is_apt = name != _LEARNT or PACKAGED in workspace.models.identity("embedding_model")
        if is_apt and all(is_ready(workspace, corpus, name) for corpus in corpora):
            return name
    return DEFAULT_METHOD


def waiting_note(workspace: Workspace, corpora: Sequence[str], method: str) -> str:
    """Return for which corpora `DEFAULT_METHOD` will answer instead of `LEXICAL` after a run."""
    if method != LEXICAL:
        return ""
    waiting = [corpus for corpus in corpora if not is_ready(workspace, corpus, DEFAULT_METHOD)]
    run = f"`gsum run {' '.join(waiting)}` completes it"
    return f"Answered by {LEXICAL} while {DEFAULT_METHOD} is being made; {run}." if waiting else ""


def require_method(workspace: Workspace, corpus: str, method: str) -> Family:
    """Return the family of a method that can answer over a corpus.

    Raise `CorpusError` without such a corpus or method, or a table that the method reads.
    """
    family = METHODS.family_of(method)
    find_corpus(workspace.home.corpora, corpus)
    if missing := _missing(workspace, corpus, family, method):
        ready = methods_ready(workspace, corpus)
        others = f"; what can answer now: {', '.join(ready)}" if ready else ""
        raise CorpusError(
            f"corpus '{corpus}' has no table '{missing}' for {method} yet; run "
            f"`gsum run {corpus} --methods {method}` first{others}"
        )
    return family


def methods_ready(workspace: Workspace, corpus: str) -> list[str]:
    """Return the methods that can answer a question, see `is_ready`."""
    names = (name for family in FAMILIES for name in family.methods)
    return [name for name in names if is_ready(workspace, corpus, name)]


def is_ready(workspace: Workspace, corpus: str, method: str) -> bool:
    """Return whether a method can answer a question: all tables that it reads are complete."""
    family = METHODS.family_of(method)
    if _missing(workspace, corpus, family, method):
        return False
    question = pa.Table.from_pylist([as_query("", "", None)], TABLES["queries"].schema)
    return supports(family, method, question)


def _missing(workspace: Workspace, corpus: str, family: Family, method: str) -> str:
    """Return the first table of a method that lacks a file, or vectors of passages; "": none."""
    lineage = Lineage(workspace.store, TABLES, lambda _: None)
    n_buckets = len(lineage.provenances("documents", corpus))
    for table in map(family.table, family.reads(method)):
        if table.name == _VECTORS and method in family.lexical:
            continue
        files = workspace.store.partitions(table, corpus)
        n_files = sum(file.method in (None, method) for file in files)
        n_needed = n_buckets if table.dimensions == DOCUMENT_LEVEL else 1
        is_behind = table.name == _VECTORS and lineage.is_behind(table.name, corpus)
        if n_files < max(1, n_needed) or is_behind:
            return table.name
    return ""


def supports(family: Family, method: str, questions: pa.Table) -> bool:
    """Return whether a method can answer all these questions, rows of `queries`."""
    select = family.supported_questions
    return not select or select(method, questions).num_rows == questions.num_rows


def as_query(query_id: str, question: str, document_id: str | None) -> dict:
    """Return a question as a row of `queries`."""
    return {
        "query_id": query_id,
        "text": question,
        "retrieval_text": question,
        "kind": "general",
        "document_id": document_id,
        "references": [],
        "relevant_document_ids": [],
        "split": "ask",
        "relevant_chunk_ids": [],
        "form": "summary",
        "options": [],
    }
