"""Answers to one question, computed from the stored tables by any method; no table is rebuilt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from gsum_assets.answering.answer import Answer, Sources
from gsum_assets.answering.counting import counted, with_extent
from gsum_assets.answering.known_sentences import lend_vectors
from gsum_assets.answering.methods import as_query, require_method, supports
from gsum_assets.answering.renderings import explained
from gsum_assets.answering.scope import find_document, restricted
from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.decoding import is_blank
from gsum_assets.corpus.document_names import named_rows, shown_names, stated_date
from gsum_assets.corpus.sections import Locations
from gsum_assets.evaluation.answer import NOTHING_FOUND
from gsum_assets.evaluation.answer_steps import answer_steps
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import SETTINGS, Inputs, run
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.answerability import ANSWERABILITY
from gsum_assets.retrieval.focus import MOST_DOCUMENTS, Focus, Titles, focus_of, in_order, spread
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_resources.embedding.model_files import PACKAGED_DIGEST
from gsum_resources.llm.ledger import Ledger
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import Lazy
from gsum_resources.text.keyphrases import enumerate_phrases
from gsum_resources.text.speech import is_english

SECTIONS = "document_sections"
"""The table from which passages get their locations, besides what the method reads."""

_QUERY_ID = "ask"
_MOST_LISTED = 3  # documents of a name that may be several
_USAGE = ("calls", "tokens_in", "tokens_out", "latency_s", "cost_usd")
_WITHOUT_TEXT = ("chunk_id", "document_id", "position", "start", "end")


def ask(
    workspace: Workspace,
    corpus: str,
    question: str,
    method: str = DEFAULT_METHOD,
    document: str | None = None,
    explain: bool = False,
    where: str = "",
) -> Answer:
    """Answer `question` over a corpus or one of its documents, by id or title.

    A question over the corpus that names documents by their titles is answered from these
    documents, and one that compares documents from a passage of each (`retrieval/focus.py`). This
    holds for all methods except those that read reports over several documents. A question about
    the collection itself is counted (`counting.py`).

    Parameter `where`: condition on the documents that are searched, see `documents_where`; "": all.

    Raises `CorpusError` if corpus, method or document is unknown, a table that the method reads is
    missing, the method cannot be restricted to some documents, or no document fulfils the
    condition.
    """
    family = METHODS.family_of(method)
    inputs = inputs_of(workspace, corpus, method, explain)
    return answer(family, inputs, question, document, explain, where)


def inputs_of(workspace: Workspace, corpus: str, method: str, explains: bool = False) -> Inputs:
    """Return the stored tables and the models that answering by a method needs.

    Raise `CorpusError` if corpus or method is unknown, or a table that the method reads is missing.
    """
    family, models = require_method(workspace, corpus, method), workspace.models
    store = workspace.store
    tables: dict[str, Any] = {SETTINGS: workspace}
    for name in (*family.read_by_questions, SECTIONS):
        table = family.table(name)
        partitions = [p for p in store.partitions(table, corpus) if p.method in (None, method)]
        tables[name] = workspace.kept_rows(table, partitions)
    if store.partitions(TABLES["chunk_embeddings"], corpus):  # to judge whether there is an answer
        tables["chunk_embeddings"] = workspace.rows("chunk_embeddings", corpus)
    ledger = Ledger(store, TABLES["llm_calls"], corpus, "ask")
    tables["language_model"] = Lazy(lambda: models.language_model(ledger, name="answers"))
    reserve = models.reserve("embedding_model", corpus)
    tables["embedding_model"] = Lazy(
        lambda: models.embedder.reporting(lambda *_: None, lambda _: None, reserve)
    )
    tables["passage_scorer"] = Lazy(lambda: models.scorer)
    return Inputs(
        tables,
        corpus,
        method,
        store=workspace.store,
        kept=workspace.kept,
        explains=explains,
        on_passages=partial(lend_vectors, workspace, corpus),
    )


def answer(
    family: Family,
    inputs: Inputs,
    question: str,
    document: str | None = None,
    explain: bool = False,
    where: str = "",
) -> Answer:
    """Answer `question` from the tables of `inputs`, `document_sections` among them; see `ask`."""
    require_question(question)
    inputs = restricted(family, inputs, where) if where else inputs
    if exact := counted(question, inputs, document, explain, where):
        return exact
    found = find(family, inputs, question, document)
    verdict, more = found.verdict if found.passages else None, ""
    if not found.passages:
        answered = nothing_found(question, inputs.method)
    elif verdict and not verdict["is_answered"]:
        answered = refusal(question, found, verdict)
    else:
        written = write(family, found)
        answered = answer_of(question, written, _shown(written.tables[family.answered_from]))
        answered = replace(answered, probability=verdict and verdict["probability"])
        answered = with_extent(question, answered, len(found.names))
        if family.ambiguous and document is None:
            several = family.ambiguous(question, inputs)
            answered = replace(answered, note=" ".join(_may_be_several(several, found.names)))
        if explain and family.explain:
            more = family.explain(written.inputs.with_tables(written.tables))
    if answered.is_refusal and (hint := language_hint(question, found)):
        answered = replace(answered, text=f"{answered.text} {hint}")
    if not explain:
        return answered
    general = explained(question, inputs.method, answered.passages, verdict)
    return replace(answered, explanation=f"{general}\n\n{more}".rstrip())


def _may_be_several(names: Mapping[str, Sequence[str]], shown: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence on each name, with the documents that may be about different bearers."""
    for name, document_ids in names.items():
        listed = [shown[document_id] for document_id in document_ids if document_id in shown]
        if len(listed) > _MOST_LISTED:
            listed[_MOST_LISTED:] = [f"{len(listed) - _MOST_LISTED} more"]
        if len(listed) > 1:
            yield (
                f'"{name}" may be several: it stands beside different names in '
                f"{enumerate_phrases(listed)}; the sources show which a sentence is about."
            )


def language_hint(question: str, found: "Found") -> str:
    """Return why a question in another language than the passages may have found nothing; or ""."""
    texts = " ".join(row["text"] for row in found.passages)
    is_same = is_english(question) or (bool(texts) and not is_english(texts))
    if is_same or PACKAGED_DIGEST not in found.inputs.model("embedding_model").identity:
        return ""
    return (
        "The packaged embedder knows English only: ask in English, or set a multilingual `model` "
        "in [embedding] of gsum.toml, and run `gsum run`."
    )


@dataclass(frozen=True)
class Found:
    """What the steps of a question computed so far: tables from `queries` on, names by id."""

    inputs: Inputs
    tables: Mapping[str, pa.Table]
    names: Mapping[str, str]

    @cached_property
    def passages(self) -> list[dict]:
        """Rows of `contexts` that have a text, best first."""
        return _shown(self.tables["contexts"])

    @cached_property
    def verdict(self) -> dict[str, Any] | None:
        """The question's row of `answerability`.

        None: `[answer] abstain` is off, or passages have no vectors, or those of another embedder.
        """
        is_on = self.inputs.settings("answer")["abstain"]
        if not is_on or "chunk_embeddings" not in self.inputs.tables:
            return None
        try:
            rows = run([ANSWERABILITY], self.inputs)["answerability"].to_pylist()
        except ValueError:  # the vectors are not those of the passages
            return None
        return rows[0] if rows else None


def find(
    family: Family, inputs: Inputs, question: str, document: str | None = None, where: str = ""
) -> Found:
    """Run the steps up to `contexts` for a question; parameters as in `ask`."""
    if where:
        inputs = restricted(family, inputs, where)
    titles, names = inputs.derived("titles", ("documents",), lambda: _titles_and_names(inputs))
    document_id = find_document(document, titles, inputs.corpus) if document is not None else None
    results = _question_tables(family, inputs, [as_query(_QUERY_ID, question, document_id)])
    if document_id is None:
        results = _focused(family, inputs, results, focus_of(question, titles))
    return Found(inputs.with_questions(results["queries"]), results, names)


def _titles_and_names(inputs: Inputs) -> tuple[Titles, Mapping[str, str]]:
    rows = named_rows(inputs.tables["documents"])
    titles = {row["document_id"]: row["title"] for row in rows}
    dates = {row["document_id"]: date for row in rows if (date := stated_date(row))}
    return Titles(titles, dates), shown_names(rows)


def write(family: Family, found: Found) -> Found:
    """Run the steps from `contexts` to the answer in `summaries`."""
    written = run(answer_steps(family), found.inputs.with_tables(found.tables))
    return replace(found, tables={**found.tables, **written})


def nothing_found(question: str, method: str) -> Answer:
    """Return the answer to a question for which no passage was found."""
    return Answer(NOTHING_FOUND, [], method=method, question=question, is_refusal=True)


def refusal(question: str, found: Found, verdict: Mapping[str, Any]) -> Answer:
    """Return the answer to a question that the documents do not answer, by a row of its verdict."""
    chunk = found.inputs.tables["chunks"].rows_with("chunk_id", [verdict["chunk_id"]])
    nearest = {**chunk.to_pylist()[0], "node_id": verdict["chunk_id"], "node_kind": "chunk"}
    sources = _sources([{**nearest, "rank": 1}], found)
    return Answer(
        NOTHING_FOUND,
        [],
        sources=sources.listed(),
        method=found.inputs.method,
        question=question,
        corpus=found.inputs.corpus,
        probability=verdict["probability"],
        is_refusal=True,
    )


def answer_of(question: str, written: Found, passages: Sequence[dict]) -> Answer:
    """Return the answer in `summaries`, with the sources of its sentences."""
    row = written.tables["summaries"].slice(0, 1).to_pylist()[0]
    rows = written.tables["answer_sources"]
    sources = _sources(passages, written, rows.filter(pc.equal(rows["sample"], 0)).to_pylist())
    text = row["text"].strip() or NOTHING_FOUND
    return Answer(
        text,
        passages,
        sources=sources.listed(),
        model=row["model"],
        method=written.inputs.method,
        lines=sources.lines(text),
        question=question,
        usage={name: row[name] for name in _USAGE},
        corpus=written.inputs.corpus,
        is_refusal=row["is_refusal"] or not row["text"].strip(),
    )


def _sources(passages: Sequence[dict], found: Found, sentences: Sequence[dict] = ()) -> Sources:
    """Return the sources of an answer from passages and rows of `answer_sources`."""
    tables = found.inputs.tables

    def texts_of(chunk_ids: Sequence[str]) -> dict[str, str]:
        chunks = tables["chunks"].rows_with("chunk_id", chunk_ids)
        return dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))

    shown = [*passages, *sentences]
    return Sources(
        passages,
        found.names,
        _of_documents(tables["chunks"], shown).select(_WITHOUT_TEXT).to_pylist(),
        Locations(_of_documents(tables[SECTIONS], shown)),
        sentences,
        texts_of,
    )


def _question_tables(
    family: Family, inputs: Inputs, queries: Sequence[dict]
) -> dict[str, pa.Table]:
    """Return the questions and the result of each step up to `contexts`, by table."""
    questions = pa.Table.from_pylist(list(queries), TABLES["queries"].schema)
    if not supports(family, inputs.method, questions):
        raise CorpusError(
            f"method '{inputs.method}' is an upper bound: it reads what a benchmark marks as "
            "evidence or as the right answer, and answers only questions of that benchmark; choose "
            "another method"
        )
    return {"queries": questions, **run(family.retrieval_steps, inputs.with_questions(questions))}


def _focused(
    family: Family, inputs: Inputs, tables: dict[str, pa.Table], focus: Focus
) -> dict[str, pa.Table]:
    """Return what was found, restricted to the documents that the question is about.

    Each of these documents is searched as if the question were about it alone, since the ranking
    of the whole corpus may contain none of its passages.
    """
    contexts, query = tables["contexts"], tables["queries"].to_pylist()[0]
    query["retrieval_text"] = focus.whole or focus.rest
    query["text"] = focus.whole or query["text"]
    is_report = contexts["document_id"].null_count > 0
    of_period, words = focus.dated
    is_said = any(words in text.lower() for text in contexts["text"].to_pylist())
    if of_period and not focus.mentions and not is_said:  # the period is that of a document
        focus = replace(focus, mentions=[of_period])
    if is_report or not contexts.num_rows or not (focus.mentions or focus.compares):
        return tables
    best = tables["rankings"].filter(pc.equal(tables["rankings"]["level"], "document"))
    ranked = best.sort_by("rank")["item_id"].to_pylist()
    documents = in_order(focus.mentions, ranked)
    if len(documents) == 1 and not focus.compares:
        return _question_tables(family, inputs, [{**query, "document_id": documents[0]}])
    if family.preparations:  # a language model would be called for each document
        return tables
    if focus.compares and len(focus.mentions) < 2:
        documents = list(dict.fromkeys((*documents, *ranked)))
    documents = documents[:MOST_DOCUMENTS]
    queries = [
        {**query, "query_id": f"{_QUERY_ID}-{i:03d}", "document_id": document_id}
        for i, document_id in enumerate(documents)
    ]
    by_question: dict[str, list[dict]] = {single["query_id"]: [] for single in queries}
    for row in _shown(_question_tables(family, inputs, queries)["contexts"]):
        by_question[row["query_id"]].append(row)
    whole = _shown(contexts)
    n = max(len(whole), len(documents))
    rows = spread(list(by_question.values()), n)
    if not focus.compares:  # several documents share a name: the best passages of all of them
        of_documents = [row for row in whole if row["document_id"] in documents]
        known = {row["node_id"] for row in of_documents}
        rows = [*of_documents, *(row for row in rows if row["node_id"] not in known)][: len(whole)]
    rows = [{**row, "query_id": _QUERY_ID, "rank": i} for i, row in enumerate(rows, 1)]
    return {**tables, "contexts": pa.Table.from_pylist(rows, contexts.schema)}


def _shown(contexts: pa.Table) -> list[dict]:
    """Return the passages of the first sample that have a text, best first."""
    first = contexts.filter(pc.equal(contexts["sample"], 0))
    ordered = first.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    return [row for row in ordered.to_pylist() if row["text"]]


def _of_documents(table: Lazy, passages: Sequence[dict]) -> pa.Table:
    """Return the rows of the documents that the passages are from."""
    documents = {row["document_id"] for row in passages if row["document_id"]}
    return table.rows_with("document_id", sorted(documents))


def require_question(question: str) -> None:
    """Raise `CorpusError` for a question without a word."""
    if is_blank(question):
        raise CorpusError("the question is empty; write one")
