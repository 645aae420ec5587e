"""Passages rewritten by how much they bear on their question (paper, 3.2.2 and appendix B).

What bears on it much is edited lightly, what bears on it somewhat is condensed, and of the rest
little or nothing remains. Whatever the number of passages, the prompt keeps to its length.
"""

import math
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import CountTokens, allowances, cut_to_tokens, lengths
from gsum_assets.evaluation.question_contexts import spent, why
from gsum_assets.gae.drafts import Draft, Fate, Grade, Passage, drafts, fitted
from gsum_assets.gae.prompts import NOTHING, PROMPTS
from gsum_assets.gae.settings import RefineSettings
from gsum_assets.result import Result
from gsum_resources.protocols import Completion, LanguageModel, Reply, Request

_PROMPTS: Mapping[Fate, str] = {"edited": "edit", "condensed": "condense", "reduced": "reduce"}
_NOTHING = re.compile(rf"[\W_]*{NOTHING}[\W_]*", re.IGNORECASE)
_MARK = re.compile(r"\A\s*\[1\]\s*")  # of a passage in a prompt, which a reply may repeat
# Word pieces of a word, within which a text's own number is believed: scripts without blanks have
# one word a line.
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
    """Ask `model` to rewrite each passage for its question, within the prompt's length.

    A passage that was not rewritten keeps the beginning of its own text, and one that was not
    judged all of it, as long as there is room. Of two passages the one with the lower score has
    to go first, then the one with the lower rank; unjudged ones count as medium.

    Parameters
    ----------
    contexts : rows of `contexts`, one context a question.
    topics, reflections : rows of `gae.topics` and `gae.reflections`; where one of a passage's two
        is missing the other counts alone.
    clusters : of each passage, by chunk_id; without one it has no topic.
    max_words : length of an answer, as its instructions name it.

    Returns
    -------
    Result
        Rows of `gae.refined_contexts` ordered by its key, one for each passage. The prompts that
        `answer_questions` makes of them keep to `settings.prompt_tokens`.
    """
    found = drafts(contexts, queries, settings, max_words, count_tokens)
    relevances = (
        {(row["query_id"], row["cluster"]): row["relevance"] for row in topics.to_pylist()},
        {(row["query_id"], row["node_id"]): row["relevance"] for row in reflections.to_pylist()},
    )
    for draft in found:
        for passage in draft.passages:
            key, node_id = draft.question.query_id, passage.row["node_id"]
            topic = relevances[0].get((key, clusters.get(node_id, -1)))
            passage.score = weighted(topic, relevances[1].get((key, node_id)), settings)
            passage.grade = grade(passage.score, settings)
        _allow(draft, settings)
    failures = _rewrite(found, model, count_tokens, prompts)
    made = fitted(found, count_tokens)
    return Result(made.rows, [*failures, *made.failures])


def unrefined_contexts(
    contexts: pa.Table,
    queries: pa.Table,
    settings: RefineSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> Result:
    """Whole passages, best first, as many as fit: the paper's ablation without reflection.

    Parameters and result are those of `refined_contexts`.
    """
    found = drafts(contexts, queries, settings, max_words, count_tokens)
    for draft in found:
        for passage in draft.passages:
            passage.show(passage.row["text"], "whole")
    return fitted(found, count_tokens)


def weighted(topic: float | None, passage: float | None, settings: RefineSettings) -> float | None:
    """Weighted sum of both relevances, 1 to 10; of one that is there it alone."""
    if topic is None or passage is None:
        return passage if topic is None else topic
    return settings.topic_weight * topic + (1 - settings.topic_weight) * passage


def grade(score: float | None, settings: RefineSettings) -> Grade | None:
    """How far a passage of this score is kept; None for one without."""
    if score is None:
        return None
    return "high" if score >= settings.high else "medium" if score >= settings.medium else "low"


def _allow(draft: Draft, settings: RefineSettings) -> None:
    """Put the passages in order, and say how long each may become."""
    draft.passages.sort(
        key=lambda passage: (
            -(settings.medium if passage.score is None else passage.score),
            passage.row["rank"],
        )
    )
    allowed, slack = allowances([_wish(p, settings) for p in draft.passages], draft.room)
    for passage, allowance in zip(draft.passages, allowed, strict=True):
        passage.allowance, passage.limit = allowance, int(slack * allowance)


def _wish(passage: Passage, settings: RefineSettings) -> int:
    """Word pieces that a passage of this grade has where there is room."""
    if passage.grade == "medium":
        return math.ceil(settings.medium_share * passage.n_tokens)
    if passage.grade == "low":
        return min(passage.n_tokens, math.ceil(settings.low_words * _pieces_per_word(passage)))
    return passage.n_tokens


def _pieces_per_word(passage: Passage) -> float:
    n_words = len(passage.row["text"].split())
    return min(_MOST, max(_FEWEST, passage.n_tokens / max(1, n_words)))


def _rewrite(
    found: Sequence[Draft], model: LanguageModel, count_tokens: CountTokens, prompts: Prompts
) -> list[str]:
    """Give each passage that has an allowance its text; a line for each request in vain."""
    asked: list[tuple[Draft, Passage, Fate]] = []
    for draft in found:
        for passage in draft.passages:
            if passage.allowance and passage.grade:
                asked.append((draft, passage, _wanted(passage)))
            elif passage.allowance:
                _show_own(passage, count_tokens)
    replies = model.complete([_request(*one, prompts) for one in asked])
    texts = [_text_of(reply) for reply in replies]
    sizes = lengths(texts, count_tokens)
    failures = []
    for (draft, passage, fate), reply, text in zip(asked, replies, texts, strict=True):
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
    """What to ask for: even what bears on the question is condensed where it must be shorter."""
    if passage.grade == "low":
        return "reduced"
    whole = passage.grade == "high" and passage.allowance >= passage.n_tokens
    return "edited" if whole else "condensed"


def _request(draft: Draft, passage: Passage, fate: Fate, prompts: Prompts) -> Request:
    # rounded up to whole pieces before, so down again; a little more for inexact quotients
    max_words = max(1, int(passage.allowance / _pieces_per_word(passage) + 1e-6))
    return Request(
        task="answer",
        instructions=prompts.text(_PROMPTS[fate], max_words=max_words),
        question=question_text(draft.question.row),
        passages=(passage.row["text"],),
        max_words=max_words,
        document_id=passage.row["document_id"] or "",
    )


def _text_of(reply: Reply) -> str:
    return _MARK.sub("", reply.text).strip() if isinstance(reply, Completion) else ""


def _show_own(passage: Passage, count_tokens: CountTokens) -> None:
    """A passage's own text, cut to its allowance."""
    text = passage.row["text"]
    if passage.n_tokens > passage.limit:
        text = cut_to_tokens(text, passage.allowance, count_tokens)
    passage.show(text, "cut")
