"""Topics of the clusters among a question's passages, and their relevance (paper, 3.2.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import CountTokens, cut_to_tokens, lengths, n_fitting, room_for
from gsum_assets.evaluation.question_contexts import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.gae.settings import RefineSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.protocols.results import TopicScore

_MAX_WORDS = 12  # of a topic


@dataclass(frozen=True)
class _Group:
    """Passages of one question and cluster, best first."""

    question: Question
    cluster: int
    texts: Sequence[str]


def topics(
    contexts: pa.Table,
    clusters: Mapping[str, int],
    queries: pa.Table,
    model: LanguageModel,
    settings: RefineSettings,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Request topic and relevance of each cluster among a question's passages from `model`.

    Parameters
    ----------
    contexts : rows of `contexts`, one context a question.
    clusters : cluster of each passage by chunk_id.
    settings : `prompt_tokens` is the token budget, within which the best passages of a cluster are
        read.

    Returns
    -------
    Result
        Rows of `gae.topics` ordered by its key.

    Raises
    ------
    ValueError
        If a passage has no cluster.
    """
    questions = questions_with_passages(contexts, queries)
    passages = {row["node_id"] for question in questions for row in question.passages}
    if lacking := sorted(passages - clusters.keys()):
        raise ValueError(
            f"gae: {len(lacking)} of {len(passages)} passages have no cluster (first: "
            f"'{lacking[0]}'); materialize gae/clusters"
        )
    groups = [group for question in questions for group in _groups(question, clusters)]
    sizes = lengths((text for group in groups for text in group.texts), count_tokens)
    requests = [
        _request(group, sizes, settings.prompt_tokens, count_tokens, prompts) for group in groups
    ]
    rows, failures = [], []
    for group, request, reply in zip(groups, requests, model.complete(requests), strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, TopicScore):
            row = {
                "query_id": group.question.query_id,
                "cluster": group.cluster,
                "topic": " ".join(reply.parsed.topic.split()),
                "relevance": reply.parsed.relevance,
                "n_passages": len(group.texts),
                "n_read": len(request.passages),
            }
            rows.append({**row, **spent(reply)})
        else:
            where = f"question '{group.question.query_id}', cluster {group.cluster}"
            failures.append(f"{where}: no topic: {why(reply)}")
    return Result(pa.Table.from_pylist(rows, TABLES["gae.topics"].schema), failures)


def _groups(question: Question, clusters: Mapping[str, int]) -> list[_Group]:
    texts_of: dict[int, list[str]] = {}
    for row in question.passages:
        texts_of.setdefault(int(clusters[row["node_id"]]), []).append(row["text"])
    return [_Group(question, cluster, texts) for cluster, texts in sorted(texts_of.items())]


def _request(
    group: _Group,
    sizes: Mapping[str, int],
    prompt_tokens: int,
    count_tokens: CountTokens,
    prompts: Prompts,
) -> Request:
    bare = Request(
        task="topic",
        instructions=prompts.text("topic"),
        question=question_text(group.question.row),
        max_words=_MAX_WORDS,
        schema=TopicScore,
    )
    room = room_for(bare, len(group.texts), prompt_tokens, count_tokens)
    read = group.texts[: n_fitting([sizes[text] for text in group.texts], room)]
    if not read:
        read = [cut_to_tokens(group.texts[0], room.tokens - room.mark, count_tokens)]
    return replace(bare, passages=tuple(read))
