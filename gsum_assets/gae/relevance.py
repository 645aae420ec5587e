"""Relevance of the topics among a question's passages, and of each passage (paper, 3.2)."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import cut_to_tokens, lengths, n_fitting, room_for
from gsum_assets.evaluation.passages import questions_with_passages
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.gae.rank import Clusters
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.protocols.results import ReasonedScore, TopicScore

_TOPIC_WORDS, _REASON_WORDS = 12, 30  # of a topic; of a reason and a number


def topics(
    contexts: pa.Table,
    clusters: Clusters,
    queries: pa.Table,
    model: LanguageModel,
    prompt_tokens: int,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Request the rows of `gae.topics` from `model`, one of each cluster of a question (3.2.1).

    The best passages of a cluster that fit `prompt_tokens` are read. Raises ValueError if a passage
    has no cluster.
    """
    every = Request("topic", prompts.text("topic"), max_words=_TOPIC_WORDS, schema=TopicScore)
    requests, keys = [], []
    for question in questions_with_passages(contexts, queries):
        labels = clusters.of([row["node_id"] for row in question.passages]).tolist()
        texts_of: dict[int, list[str]] = {}
        for row, cluster in zip(question.passages, labels, strict=True):
            texts_of.setdefault(cluster, []).append(row["text"])
        bare = replace(every, question=question_text(question.row))
        for cluster, texts in sorted(texts_of.items()):
            requests.append(_with_best(bare, texts, prompt_tokens))
            read = {"n_passages": len(texts), "n_read": len(requests[-1].passages)}
            keys.append({"query_id": question.query_id, "cluster": cluster, **read})
    rows, failures = [], []
    for key, reply in zip(keys, model.complete(requests), strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, TopicScore):
            topic = " ".join(reply.parsed.topic.split())
            relevance = reply.parsed.relevance
            rows.append({**key, "topic": topic, "relevance": relevance, **spent(reply)})
        else:
            where = f"question '{key['query_id']}', cluster {key['cluster']}"
            failures.append(f"{where}: no topic: {why(reply)}")
    return result_of("gae", {"topics": rows}, failures)


def _with_best(request: Request, texts: Sequence[str], prompt_tokens: int) -> Request:
    """Return a request with as many of the first texts as fit, the first one cut if none does."""
    room = room_for(request, len(texts), prompt_tokens, n_word_pieces)
    sizes = lengths(texts, n_word_pieces)
    read = texts[: n_fitting([sizes[text] for text in texts], room)]
    if not read:
        read = [cut_to_tokens(texts[0], room.tokens - room.mark, n_word_pieces)]
    return replace(request, passages=tuple(read))


def reflections(
    contexts: pa.Table, queries: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Request the rows of `gae.reflections` from `model`, by question and rank (3.2.2)."""
    instructions = prompts.text("reflection")
    every = Request("score", instructions, max_words=_REASON_WORDS, schema=ReasonedScore)
    keys, requests = [], []
    for question in questions_with_passages(contexts, queries):
        bare = replace(every, question=question_text(question.row))
        for passage in question.passages:
            keys.append({"query_id": question.query_id, "node_id": passage["node_id"]})
            document_id = passage["document_id"] or ""
            requests.append(replace(bare, passages=(passage["text"],), document_id=document_id))
    rows, failures = [], []
    for key, reply in zip(keys, model.complete(requests), strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, ReasonedScore):
            rows.append({**key, "relevance": reply.parsed.score, **spent(reply)})
        else:
            where = f"question '{key['query_id']}', passage '{key['node_id']}'"
            failures.append(f"{where}: not judged: {why(reply)}")
    return result_of("gae", {"reflections": rows}, failures)
