"""Rewriting of passages by their relevance to the question (paper, 3.2.2 and appendix B).

Passages of high relevance are edited lightly, of medium relevance condensed, and of low relevance
reduced or dropped. The prompt keeps to its length for any number of passages.
"""

import math
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import CountTokens, allowances, cut_to_tokens, lengths
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.gae.drafts import Draft, Fate, Grade, Passage, drafts, fitted
from gsum_assets.gae.prompts import NOTHING, PROMPTS
from gsum_assets.gae.settings import RefineSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_resources.protocols.models import Completion, LanguageModel, Request

_PROMPTS: Mapping[Fate, str] = {"edited": "edit", "condensed": "condense", "reduced": "reduce"}
_NOTHING = re.compile(rf"[\W_]*{NOTHING}[\W_]*", re.IGNORECASE)
_MARK = re.compile(r"\A\s*\[1\]\s*")  # number of a passage in a prompt, which a reply may repeat
# Range to which word pieces per word are clipped: scripts without blanks have one word per line.
_FEWEST, _MOST = 1.0, 2.0


def refined_contexts(
    contexts: pa.Table,
    topics: pa.Table,
    reflections: pa.Table,
    clusters: Mapping[str, int],
    queries: pa.Table,
    model: LanguageModel,
    settings: RefineSettings,
    max_words: int,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Rewrite each passage for its question by `model`, within the prompt's length.

    A passage that was not rewritten keeps the beginning of its text, and one that was not judged
    its whole text, if there is room. Passages with lower scores, then those with lower ranks, are
    dropped first; passages that were not judged count as medium.

    Parameters
    ----------
    contexts : rows of `contexts`, one context a question.
    topics, reflections : rows of `gae.topics` and `gae.reflections`; if a passage has only one of
        the two relevances, it counts alone.
    clusters : cluster of each passage by chunk_id; a passage without one has no topic.
    max_words : length of an answer as stated in its instructions.

    Returns
    -------
    Result
        Rows of `gae.refined_contexts` ordered by its key, one for each passage. The prompts that
        `answer_questions` builds from them keep to `settings.prompt_tokens`.
    """
    all_drafts = drafts(contexts, queries, settings, max_words, count_tokens)
    topic_of = {(row["query_id"], row["cluster"]): row for row in topics.to_pylist()}
    relevance_of = {
        (row["query_id"], row["node_id"]): row["relevance"] for row in reflections.to_pylist()
    }
    for draft in all_drafts:
        for passage in draft.passages:
            key, node_id = draft.question.query_id, passage.row["node_id"]
            about = topic_of.get((key, clusters.get(node_id, -1)), {})
            passage.topic = about.get("topic", "")
            passage.score = weighted(
                about.get("relevance"), relevance_of.get((key, node_id)), settings
            )
            passage.grade = grade(passage.score, settings)
        draft.passages.sort(
            key=lambda passage: (
                -(settings.medium if passage.score is None else passage.score),
                passage.row["rank"],
            )
        )
        allowed, slack = allowances([_wish(p, settings) for p in draft.passages], draft.room)
        for passage, allowance in zip(draft.passages, allowed, strict=True):
            passage.allowance, passage.limit = allowance, int(slack * allowance)
    failures = _rewrite(all_drafts, model, count_tokens, prompts)
    result = fitted(all_drafts, count_tokens)
    return Result(result.rows, [*failures, *result.failures])


def unrefined_contexts(
    contexts: pa.Table,
    queries: pa.Table,
    settings: RefineSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> Result:
    """Return whole passages, best first, as many as fit: the paper's ablation without reflection.

    Parameters and result are those of `refined_contexts`.
    """
    all_drafts = drafts(contexts, queries, settings, max_words, count_tokens)
    for draft in all_drafts:
        for passage in draft.passages:
            passage.show(passage.row["text"], "whole")
    return fitted(all_drafts, count_tokens)


def weighted(topic: float | None, passage: float | None, settings: RefineSettings) -> float | None:
    """Return the weighted sum of both relevances, 1 to 10, or the only one that is not None."""
    if topic is None or passage is None:
        return passage if topic is None else topic
    return settings.topic_weight * topic + (1 - settings.topic_weight) * passage


def grade(score: float | None, settings: RefineSettings) -> Grade | None:
    """Return the grade of a score; None for no score."""
    if score is None:
        return None
    return "high" if score >= settings.high else "medium" if score >= settings.medium else "low"


def _wish(passage: Passage, settings: RefineSettings) -> int:
    """Return the word pieces that a passage of this grade gets if there is room."""
    if passage.grade == "medium":
        return math.ceil(settings.medium_share * passage.n_tokens)
    if passage.grade == "low":
        return min(passage.n_tokens, math.ceil(settings.low_words * _pieces_per_word(passage)))
    return passage.n_tokens


def _pieces_per_word(passage: Passage) -> float:
    n_words = len(passage.row["text"].split())
    return min(_MOST, max(_FEWEST, passage.n_tokens / max(1, n_words)))


def _rewrite(
    all_drafts: Sequence[Draft], model: LanguageModel, count_tokens: CountTokens, prompts: Prompts
) -> list[str]:
    """Set the text of each passage with an allowance, and return a line per failed request."""
    requested: list[tuple[Draft, Passage, Fate]] = []
    for draft in all_drafts:
        for passage in draft.passages:
            if passage.allowance and passage.grade:
                requested.append((draft, passage, _wanted(passage)))
            elif passage.allowance:
                _show_own(passage, count_tokens)
    replies = model.complete([_request(*item, prompts) for item in requested])
    texts = []
    for reply, (_, passage, _) in zip(replies, requested, strict=True):
        text = reply.text if isinstance(reply, Completion) else ""
        if "[1]" not in passage.row["text"]:  # a mark that the passage has itself stays
            text = _MARK.sub("", text)
        texts.append(text.strip())
    sizes = lengths(texts, count_tokens)
    failures = []
    for (draft, passage, fate), reply, text in zip(requested, replies, texts, strict=True):
        passage.spent = spent(reply)
        if fate == "reduced" and _NOTHING.fullmatch(text):
            continue  # dropped
        if text and not _NOTHING.fullmatch(text):
            is_long = sizes[text] > passage.limit
            allowed = cut_to_tokens(text, passage.allowance, count_tokens) if is_long else text
            passage.show(allowed, fate)
        else:
            _show_own(passage, count_tokens)
            where = f"question '{draft.question.query_id}', passage '{passage.row['node_id']}'"
            failures.append(f"{where}: not rewritten: {why(reply)}")
    return failures


def _wanted(passage: Passage) -> Fate:
    """Return the rewriting to request; highly relevant passages are condensed if too long."""
    if passage.grade == "low":
        return "reduced"
    whole = passage.grade == "high" and passage.allowance >= passage.n_tokens
    return "edited" if whole else "condensed"


def _request(draft: Draft, passage: Passage, fate: Fate, prompts: Prompts) -> Request:
    # allowances were rounded up to whole pieces, so round down; 1e-6 corrects inexact quotients
    max_words = max(1, int(passage.allowance / _pieces_per_word(passage) + 1e-6))
    # not in the instructions: a model wrote it from passages
    about = f"\nTopic of the passage and of those like it: {passage.topic}" if passage.topic else ""
    return Request(
        task="answer",
        instructions=prompts.text(_PROMPTS[fate], max_words=max_words),
        question=question_text(draft.question.row) + about,
        passages=(passage.row["text"],),
        max_words=max_words,
        document_id=passage.row["document_id"] or "",
    )


def _show_own(passage: Passage, count_tokens: CountTokens) -> None:
    """Show a passage's own text, cut to its allowance."""
    text = passage.row["text"]
    if passage.n_tokens > passage.limit:
        text = cut_to_tokens(text, passage.allowance, count_tokens)
    passage.show(text, "cut")
