"""One question, answered from the stored tables by any method, without making them anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.settings import CorpusError
from gsum_assets.definitions import FAMILIES, Pipeline
from gsum_assets.evaluation.assets import Family, Inputs, answered
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.llm.ledger import Ledger
from gsum_resources.warehouse_io import Lazy

_QUERY_ID = "ask"


@dataclass(frozen=True)
class Answer:
    """An answer and the passages it rests on, best first, as rows of `contexts`.

    `explanation` tells how it came about, where that was asked for.
    """

    text: str
    passages: Sequence[dict]
    explanation: str = ""


class _Sections:
    """Sections of `corpus.toml`, for a step that leaves no trace."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def section(self, corpus: str, name: str) -> object:
        return self._pipeline.section(corpus, name)


def ask(
    pipeline: Pipeline,
    corpus: str,
    question: str,
    method: str,
    document_id: str | None = None,
    explain: bool = False,
) -> Answer:
    """Answer `question` over a corpus or one of its documents.

    Raises
    ------
    CorpusError
        If method or document is unknown, what the method reads was not made yet, or it has nothing
        to explain beyond its passages.
    """
    family = _family_of(method)
    if explain and family.explain is None:
        able = ", ".join(v for f in FAMILIES if f.explain for v in f.variants)
        raise CorpusError(
            f"method '{method}' has no more to explain than the passages it shows; leave --explain "
            f"out, or ask {able}"
        )
    tables = _stored(pipeline, corpus, family, method)
    if document_id is not None:
        _check_document(tables["documents"].get(), corpus, document_id)
    asked = _as_query(question, document_id)
    if not question.strip():
        raise CorpusError("the question is empty; write one")
    tables["queries"] = Lazy(lambda: asked)
    inputs = Inputs({**tables, "corpus_settings": _Sections(pipeline)}, corpus)
    ledger = Ledger(pipeline.store, TABLES["llm_calls"], corpus, "ask")
    inputs = _with(inputs, {"language_model": pipeline.models.language_model(ledger)})
    made: dict[str, pa.Table] = {}
    for step in family.preparations:
        made[step.table] = step.make(method, _with(inputs, made)).rows
    made["rankings"] = family.rank(method, _with(inputs, made))
    made["contexts"] = contexts = family.contexts(method, _with(inputs, made))
    for step in family.refinements:
        made[step.table] = contexts = step.make(method, _with(inputs, made)).rows
    answers = answered(family, _with(inputs, made))
    passages = contexts.filter(pc.equal(contexts["sample"], 0)).to_pylist()
    return Answer(
        answers.rows["text"][0].as_py(),
        [row for row in passages if row["text"]],
        family.explain(method, _with(inputs, made)) if explain and family.explain else "",
    )


def _with(inputs: Inputs, made: Mapping[str, Any]) -> Inputs:
    """The inputs and what was made from them."""
    added = {name: Lazy(lambda one=one: one) for name, one in made.items()}
    return Inputs({**inputs.tables, **added}, inputs.corpus)


def _family_of(method: str) -> Family:
    for family in FAMILIES:
        if method in family.variants:
            return family
    known = ", ".join(variant for family in FAMILIES for variant in family.variants)
    raise CorpusError(f"unknown method '{method}'; choose from {known}")


def _stored(pipeline: Pipeline, corpus: str, family: Family, method: str) -> dict[str, Lazy]:
    """What the family reads, from the store."""
    names = {path.split("/")[-1]: path.replace("/", ".") for path in family.reads}
    own = (*family.reads_by_corpus, *family.reads_by_variant)
    names |= {name: f"{family.name}.{name}" for name in own}
    wanted = {}
    for name, table_name in {"documents": "documents", **names}.items():
        table = TABLES[table_name]
        partitions = [
            p
            for p in pipeline.store.partitions(table, corpus)
            if p.method is None or p.method == method
        ]
        if not partitions:
            raise CorpusError(
                f"corpus '{corpus}' has no table '{table_name}' for {method} yet; run "
                f"`gsum run {corpus} --methods {method}` first"
            )
        wanted[name] = Lazy(lambda t=table, p=partitions: pipeline.store.read(t, p)[0])
    wanted["embedding_model"] = Lazy(lambda: pipeline.models.embedder)
    wanted["passage_scorer"] = Lazy(lambda: pipeline.models.scorer)
    return wanted


def _check_document(documents: pa.Table, corpus: str, document_id: str) -> None:
    known = documents["document_id"].to_pylist()
    if document_id not in known:
        some = ", ".join(sorted(known)[:5])
        raise CorpusError(
            f"corpus '{corpus}' has no document '{document_id}'; it has {len(known)}, among them "
            f"{some}"
        )


def _as_query(question: str, document_id: str | None) -> pa.Table:
    row = {
        "query_id": _QUERY_ID,
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
    return pa.Table.from_pylist([row], TABLES["queries"].schema)
