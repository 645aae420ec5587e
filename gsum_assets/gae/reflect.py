"""Relevance of each passage to its question, judged by a language model (paper, 3.2.2)."""

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.question_contexts import questions_with_passages
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.protocols.results import ReasonedScore

_MAX_WORDS = 30  # of a reason and a number


def reflections(
    contexts: pa.Table, queries: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Request the relevance of every passage to its question from `model`.

    Parameters
    ----------
    contexts : rows of `contexts`, one context a question.

    Returns
    -------
    Result
        Rows of `gae.reflections` in order of questions and ranks.
    """
    pairs = [
        (question, passage)
        for question in questions_with_passages(contexts, queries)
        for passage in question.passages
    ]
    replies = model.complete(
        [
            Request(
                task="score",
                instructions=prompts.text("reflection"),
                question=question_text(question.row),
                passages=(passage["text"],),
                max_words=_MAX_WORDS,
                schema=ReasonedScore,
                document_id=passage["document_id"] or "",
            )
            for question, passage in pairs
        ]
    )
    rows, failures = [], []
    for (question, passage), reply in zip(pairs, replies, strict=True):
        key = {"query_id": question.query_id, "node_id": passage["node_id"]}
        if isinstance(reply, Completion) and isinstance(reply.parsed, ReasonedScore):
            rows.append({**key, "relevance": reply.parsed.score, **spent(reply)})
        else:
            where = f"question '{key['query_id']}', passage '{key['node_id']}'"
            failures.append(f"{where}: not judged: {why(reply)}")
    return Result(pa.Table.from_pylist(rows, TABLES["gae.reflections"].schema), failures)
