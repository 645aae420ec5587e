"""A question over several corpora: the best passages of all of them, in one answer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import (
    SECTIONS,
    answer_of,
    find,
    inputs_of,
    nothing_found,
    refusal,
    require_question,
    write,
)
from gsum_assets.answering.counting import counted, joined
from gsum_assets.answering.scope import NoDocumentError, restricted
from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import Lazy

COSINES = ("dense",)
"""Methods whose scores are cosines of the home's one embedder."""


def ask_several(
    workspace: Workspace, corpora: Sequence[str], question: str, method: str, where: str = ""
) -> Answer:
    """Answer a question over several corpora.

    Each corpus is searched by the method. Of what was found, as many passages are read as the
    method reads of one corpus: by their scores, where these mean the same in each corpus (cosines
    of `dense`, probabilities of `evidence`), else by their reciprocal ranks, of equal ones first
    that of the corpus that is named first. Settings and prompts of the answer are those of the
    first corpus. In the answer, passages have a `corpus`, and titles of sources begin with it.

    Raises `CorpusError` as `ask` does, or if the method reads what was written about one corpus.
    """
    family = METHODS.family_of(method)
    require_question(question)
    if not family.filtered or family.refinements or family.preparations:
        able = [f for f in FAMILIES if f.filtered and not f.refinements and not f.preparations]
        raise CorpusError(
            f"method '{method}' answers from what was written about one corpus; ask one corpus, or "
            f"use one of: {', '.join(name for f in able for name in f.filtered)}"
        )
    inputs = {corpus: inputs_of(workspace, corpus, method) for corpus in dict.fromkeys(corpora)}
    missing = None
    for corpus, of_corpus in list(inputs.items()) if where else ():
        try:
            inputs[corpus] = restricted(family, of_corpus, where)
        except NoDocumentError as error:
            missing = error
            del inputs[corpus]
    if missing and not inputs:
        raise missing
    exact = [counted(question, of_corpus, None, False, where) for of_corpus in inputs.values()]
    if any(exact):
        return joined([answer for answer in exact if answer])
    results = {corpus: find(family, of, question) for corpus, of in inputs.items()}
    passages = {corpus: found.passages for corpus, found in results.items()}
    first = next(iter(results.values()))
    rows = merged(passages, by_score=family.weighted or method in COSINES)
    if not rows:
        return nothing_found(question, method)
    verdicts = {corpus: found.verdict for corpus, found in results.items()}
    refused = {c: v for c, v in verdicts.items() if v and not v["is_answered"]}
    if len(refused) == len(results):
        best = max(refused, key=lambda corpus: refused[corpus]["probability"])
        return refusal(question, results[best], refused[best])
    # ids of documents are unique within a corpus, and have no "/"
    distinct = [{**row, "document_id": f"{row['corpus']}/{row['document_id']}"} for row in rows]
    contexts = pa.Table.from_pylist(distinct, first.tables["contexts"].schema)

    def read(table: str) -> pa.Table:
        """Return rows of all corpora, documents with the name of theirs before the id."""
        rows = {corpus: inputs[corpus].tables[table].get() for corpus in results}
        return pa.concat_tables([_named(corpus, of) for corpus, of in rows.items()])

    names = {
        f"{corpus}/{document_id}": f"{corpus}: {name}"
        for corpus, found in results.items()
        for document_id, name in found.names.items()
    }
    tables = {**first.inputs.tables}
    for table in ("documents", SECTIONS, "chunks"):
        tables[table] = Lazy(partial(read, table))
    asked = replace(
        first,
        inputs=replace(first.inputs, tables=tables),
        tables={**first.tables, "contexts": contexts},
        names=names,
    )
    answer = answer_of(question, write(family, asked), distinct)
    sources = [
        replace(source, document_id=(source.document_id or "").partition("/")[2] or None)
        for source in answer.sources
    ]
    return replace(answer, passages=rows, sources=sources)


def _named(corpus: str, rows: pa.Table) -> pa.Table:
    """Return rows with the name of the corpus before the ids of documents."""
    index = rows.schema.get_field_index("document_id")
    ids = pc.binary_join_element_wise(corpus, rows["document_id"], "/")
    return rows.set_column(index, rows.schema.field(index), ids)


def merged(passages: dict[str, list[dict]], by_score: bool) -> list[dict]:
    """Return the best passages of all corpora, with their corpus and new ranks.

    They are as many as the corpus with most has; of passages in two corpora the better one is kept.
    Without `by_score`, for scores that mean the same in each corpus, ranks are compared.
    """
    rows = [{**row, "corpus": corpus} for corpus, of in passages.items() for row in of]
    rows.sort(key=lambda row: -row["score"] if by_score else row["rank"])  # keeps order of corpora
    distinct = {row["node_id"]: row for row in reversed(rows)}
    best = [row for row in rows if distinct[row["node_id"]] is row]
    n = max(map(len, passages.values()), default=0)
    return [{**row, "rank": rank} for rank, row in enumerate(best[:n], 1)]
