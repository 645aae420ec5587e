"""Synopses of line chunks (3.2); facts, elements and relations of each (3.3, A.2 to A.4)."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.names import clean_name, name_key
from gsum_assets.evaluation.token_usage import why
from gsum_assets.jerr.prompts import PROMPTS, Extraction
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import Completion, LanguageModel, Request

SYNOPSIS_WORDS = 100  # of a synopsis per 1,000 word pieces of its line chunk (ours)
MOST_FACTS = 12  # of a synopsis (ours)
N_ELEMENTS = 3  # of a synopsis (A.3)

_LEAST_WORDS = 20  # of a synopsis
_REPLY_WORDS = 300  # of an extraction, brackets aside
_RELATION_WORDS = 3  # A.4
_LINE_CHUNK = ["chunk_id", "document_id", "position"]
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")


def synopses(line_chunks: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS) -> Result:
    """Request the synopses of line chunks from `model`; one without a valid reply has no row.

    A line chunk that is no longer than a synopsis is its own synopsis, without a request.
    """
    chunks = _in_reading_order(line_chunks)
    requests: dict[int, Request] = {}
    for index, chunk in enumerate(chunks):
        words = max(_LEAST_WORDS, round(SYNOPSIS_WORDS * chunk["n_tokens"] / 1000))
        if len(chunk["text"].split()) > words:
            bare = Request("synopsis", prompts.text("synopsis", max_words=words), max_words=words)
            requests[index] = replace(
                bare, passages=(chunk["text"],), document_id=chunk["document_id"]
            )
    replies = dict(zip(requests, model.complete(list(requests.values())), strict=True))
    rows, failures = [], []
    for index, chunk in enumerate(chunks):
        row = {name: chunk[name] for name in _LINE_CHUNK}
        reply = replies.get(index)
        if reply is None:
            rows.append({**row, "synopsis": chunk["text"], "model": ""})
        elif isinstance(reply, Completion) and reply.text.strip():
            rows.append({**row, "synopsis": reply.text.strip(), "model": reply.model})
        else:
            failures.append(f"{_name(chunk)}: no synopsis: {why(reply)}")
    return result_of("jerr", {"synopses": rows}, failures)


def extract(synopses: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS) -> Result:
    """Extract facts, elements and relations of all synopses by `model`, one request each.

    Relations that do not join two different elements of the synopsis are dropped.
    """
    chunks = _in_reading_order(synopses)
    instructions = prompts.text("extraction", max_facts=MOST_FACTS, n_elements=N_ELEMENTS)
    bare = Request("facts", instructions, max_words=_REPLY_WORDS, schema=Extraction)
    requests = [
        replace(bare, passages=(row["synopsis"],), document_id=row["document_id"]) for row in chunks
    ]
    rows: dict[str, list[dict]] = {"atomic_facts": [], "elements": [], "relations": []}
    failures = []
    for chunk, reply in zip(chunks, model.complete(requests), strict=True):
        extraction, problem = usable(reply, Extraction)
        if extraction is not None:
            origin = {**chunk, "model": reply.model}
            for of_table, of_chunk in zip(rows.values(), _rows(extraction), strict=True):
                of_table += [{**origin, "position": i, **row} for i, row in enumerate(of_chunk)]
        if problem:
            lost = ": no facts and elements" if extraction is None else ""
            failures.append(f"{_name(chunk)}{lost}: {problem}")
    return result_of("jerr", rows, failures)


def element_key(element: str) -> str:
    """Return an element without case, marks, extra blanks and a leading article."""
    return _ARTICLE.sub("", name_key(element))


def _rows(extraction: Extraction) -> tuple[list[dict], list[dict], Iterable[dict]]:
    """Return the facts, elements and relations of one reply as rows."""
    statements = dict.fromkeys(" ".join(fact.split()) for fact in extraction.facts)
    facts = [{"statement": statement} for statement in statements if statement][:MOST_FACTS]
    names: dict[str, str] = {}
    for element in extraction.elements:
        with suppress(ValueError):  # nothing is left without mark-up
            name = clean_name(element)
            names.setdefault(element_key(name), name)
    elements = [{"element": name, "element_key": key} for key, name in names.items()][:N_ELEMENTS]
    keys = {row["element_key"] for row in elements}
    relations: dict[tuple[str, str], dict[str, str]] = {}
    for item in extraction.relations:
        source, target = element_key(item.source), element_key(item.target)
        relation = " ".join(item.relation.split()[:_RELATION_WORDS])
        if {source, target} <= keys and source != target and relation:
            row = {"source_key": source, "target_key": target, "relation": relation}
            relations.setdefault((source, target), row)
    return facts, elements, relations.values()


def _in_reading_order(rows: pa.Table) -> list[dict]:
    return rows.sort_by([("document_id", "ascending"), ("position", "ascending")]).to_pylist()


def _name(chunk: Mapping[str, Any]) -> str:
    return f"document '{chunk['document_id']}', line chunk {chunk['position']}"
