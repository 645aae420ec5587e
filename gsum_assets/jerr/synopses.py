"""Synopses of line chunks (paper, 3.2)."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.token_usage import why
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.settings import IndexSettings
from gsum_assets.jerr.sizes import of_one_size
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_resources.protocols.models import Completion, LanguageModel, Request

_LEAST = 20  # words of a synopsis


def synopses(
    line_chunks: pa.Table, model: LanguageModel, settings: IndexSettings, prompts: Prompts = PROMPTS
) -> Result:
    """Request the synopses of all line chunks from `model`.

    A line chunk that is no longer than a synopsis is its own synopsis, without a request. A line
    chunk without a valid reply has no row.
    """
    order = [("document_id", "ascending"), ("position", "ascending")]
    chunks = line_chunks.sort_by(order).to_pylist()
    requests: dict[str, Request] = {}
    for chunk in chunks:
        words = max(_LEAST, round(settings.synopsis_words * chunk["n_tokens"] / 1000))
        if len(chunk["text"].split()) > words:
            requests[chunk["chunk_id"]] = Request(
                task="synopsis",
                instructions=prompts.text("synopsis", max_words=words),
                passages=(chunk["text"],),
                max_words=words,
                document_id=chunk["document_id"],
            )
    replies = iter(model.complete(list(requests.values())))
    rows, failures = [], []
    for chunk in chunks:
        if chunk["chunk_id"] not in requests:
            rows.append(_row(chunk, chunk["text"], ""))
            continue
        reply = next(replies)
        if isinstance(reply, Completion) and reply.text.strip():
            rows.append(_row(chunk, reply.text.strip(), reply.model))
        else:
            where = f"document '{chunk['document_id']}', line chunk {chunk['position']}"
            failures.append(f"{where}: no synopsis: {why(reply)}")
    return Result(pa.Table.from_pylist(rows, of_one_size("jerr.synopses")), failures)


def _row(chunk: Mapping[str, Any], synopsis: str, model: str) -> dict[str, Any]:
    copied = {name: chunk[name] for name in ("chunk_id", "document_id", "position")}
    return {**copied, "synopsis": synopsis, "model": model}
