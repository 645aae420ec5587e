"""Answers from contexts: the last step of all methods."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer_sentences import without_citations
from gsum_assets.evaluation.budget import (
    MOST_MARKED,
    CountTokens,
    Room,
    cut_to_tokens,
    n_fitting,
    room_for,
)
from gsum_assets.evaluation.passages import KEY_POINT, LabelOf
from gsum_assets.evaluation.prompts import PROMPTS
from gsum_assets.evaluation.short_answers import listed
from gsum_assets.evaluation.token_usage import NO_USAGE, spent
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import Completion, CompletionError, LanguageModel, Request
from gsum_resources.store.arrow import pc
from gsum_resources.text.question_kinds import rule_of
from gsum_resources.text.refusals import refusal_in

NOTHING_FOUND = "The documents do not say."
_SPENT = ("calls", "tokens_in", "tokens_out", "latency_s", "cost_usd")
_READ = ["query_id", "sample", "rank", "node_id", "node_kind", "document_id", "position", "score"]
_READ += ["text"]
Key = tuple[str, int]  # query id, sample
# Words of an answer by form or kind, where they are fewer. A model that cannot follow instructions
# quotes sentences instead: with 40 words the option of a choice can be recognized.
_MOST_WORDS = {"short": 20, "choice": 40, "fact": 40, "yes_no": 60}


class Answered(NamedTuple):
    """Answers to questions.

    Attributes
    ----------
    rows : rows of `summaries`; texts are without the numbers of passages that a model wrote.
    failures : a sentence for each question without an answer, or answered from less.
    shown : rows of `contexts` that each answer was written from, in the order of the prompt.
    cited : the numbers of passages that the model wrote, by number of the sentence.
    """

    rows: pa.Table
    failures: Sequence[str]
    shown: Mapping[Key, Sequence[Mapping[str, Any]]]
    cited: Mapping[Key, Mapping[int, Sequence[int]]]


class AnswerError(ValueError):
    """Error raised if no question could be answered; the message names the first cause."""


def answer_questions(
    queries: pa.Table,
    contexts: pa.Table,
    model: LanguageModel,
    max_words: int,
    prompts: Prompts = PROMPTS,
    weighted: bool = False,
    retrieved: pa.Table | None = None,
    label_of: LabelOf | None = None,
    prompt_tokens: int | None = None,
    by_kind: bool = False,
    response_type: str = "",
) -> Answered:
    """Answer every question over its contexts with `model`.

    A question for which nothing was retrieved, or all of it was dropped as of no help, is answered
    by `NOTHING_FOUND` without a request.

    Parameters
    ----------
    max_words : length of a summary; short answers and choices are shorter.
    weighted : whether the scores of contexts are probabilities, by which models with
        `reads_weights` prefer passages.
    retrieved : rows of `contexts` before they were refined, None if they were not; a question that
        has some there and none in the refined ones has no answer: its refinement failed.
    label_of : returns where a passage comes from, which stands behind its number; None: not shown.
    prompt_tokens : word pieces of the longest prompt with labels; None: any number.
    by_kind : whether summaries have the form of the kind of their question, as those of `gsum ask`.
    response_type : form of summaries, in words, instead of that of their kind.

    Raises `AnswerError` if no question could be answered.
    """
    questions = {row["query_id"]: row for row in queries.to_pylist()}
    passages = _passages(contexts)
    known = {key[0] for key in passages}
    if retrieved is not None:
        known.update(pc.unique(retrieved["query_id"]).to_pylist())
    passages |= {(query_id, 0): [] for query_id in questions if query_id not in known}
    weighted = weighted and getattr(model, "reads_weights", False)
    keys = sorted(key for key, rows in passages.items() if rows and key[0] in questions)
    writer = _Writer(
        model, max_words, prompts, weighted, label_of, prompt_tokens, by_kind, response_type
    )
    fitted = [writer.fitted(questions[key[0]], passages[key]) for key in keys]
    replies = model.complete([request for request, _, _ in fitted])
    answered = list(zip(keys, replies, strict=True))
    rows: list[dict[str, Any]] = []
    cited: dict[Key, Mapping[int, Sequence[int]]] = {}
    quotes = getattr(model, "only_quotes", False)  # a number in brackets is then of the documents
    for key, reply in answered:
        if isinstance(reply, Completion):
            is_cited = questions[key[0]]["form"] == "summary" and not quotes
            text, cited[key] = without_citations(reply.text) if is_cited else (reply.text, {})
            is_empty = quotes and not text.strip()  # nothing states what is asked for
            refusal = refusal_in(text) if is_cited else "" if is_empty else None
            text, is_refusal = (
                (text, False) if refusal is None else (refusal or NOTHING_FOUND, True)
            )
            row = {"query_id": key[0], "sample": key[1], "text": text, "is_refusal": is_refusal}
            rows.append({**row, **spent(reply)})
    nothing = {"text": NOTHING_FOUND, "is_refusal": True, **NO_USAGE}
    rows += [
        {"query_id": key[0], "sample": key[1], **nothing}
        for key, read in passages.items()
        if not read and key[0] in questions
    ]
    rows.sort(key=lambda row: (row["query_id"], row["sample"]))
    failures = [
        f"question '{key[0]}' has no answer: {reply.message}"
        for key, reply in answered
        if isinstance(reply, CompletionError)
    ]
    failures += [
        f"question '{key[0]}': {n} of {len(passages[key])} passages are not shown, or only the "
        f"beginning of the best: the context of model '{model.identity}' has no room for more"
        for key, (_, _, n) in zip(keys, fitted, strict=True)
        if n
    ]
    failures += [f"question '{q}' has no context" for q in questions if (q, 0) not in passages]
    if not rows and failures:
        raise AnswerError(f"none of {len(failures)} questions was answered; first: {failures[0]}")
    shown = {key: rows for key, (_, rows, _) in zip(keys, fitted, strict=True)}
    return Answered(pa.Table.from_pylist(rows, TABLES["summaries"].schema), failures, shown, cited)


def with_spent(summaries: pa.Table, steps: Sequence[pa.Table]) -> pa.Table:
    """Return rows of `summaries` with the usage of earlier steps added for each question.

    `steps` have rows with a `query_id`, and `calls` to `cost_usd` if the step calls a model.
    """
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for step in steps:
        if set(_SPENT) <= set(step.column_names):
            for row in step.select(["query_id", *_SPENT]).to_pylist():
                totals[row.pop("query_id")].update(row)
    rows = [
        row | {name: row[name] + totals[row["query_id"]][name] for name in _SPENT}
        for row in summaries.to_pylist()
    ]
    return pa.Table.from_pylist(rows, summaries.schema)


def answer_request(
    question: dict,
    passages: tuple[str, ...],
    max_words: int,
    prompts: Prompts = PROMPTS,
    weights: tuple[float, ...] = (),
    by_kind: bool = False,
    of_points: bool = False,
    response_type: str = "",
) -> Request:
    """Return the request for a row of `queries`, over passages or key points in reading order."""
    form, is_brief = question["form"], by_kind or question.get("split") == "ask"
    kind = rule_of(question["text"]).kind if is_brief else "account"
    asked = form if form != "summary" else "response_type" if response_type else kind
    words = min(max_words, _MOST_WORDS.get(asked, max_words))
    instructions = prompts.text(asked, max_words=words, response_type=response_type)
    if form == "summary":
        whole = "reduce" if of_points else "answer"
        instructions = prompts.text(whole, max_words=words, form=instructions)
    return Request(
        task="answer",
        instructions=instructions,
        question=question_text(question),
        passages=passages,
        max_words=words,
        document_id=question["document_id"] or "",
        weights=weights,
        is_brief=is_brief,
    )


@dataclass(frozen=True)
class _Writer:
    """What the requests of all questions share; parameters as of `answer_questions`."""

    model: LanguageModel
    max_words: int
    prompts: Prompts
    weighted: bool
    label_of: LabelOf | None
    prompt_tokens: int | None
    by_kind: bool
    response_type: str

    def fitted(
        self, question: dict, passages: Sequence[dict]
    ) -> tuple[Request, Sequence[dict], int]:
        """Return a request over as many of the best passages as fit into the model's context.

        Its passages in order follow, and the number of passages that are omitted or cut.
        """
        window = getattr(self.model, "window", None)
        whole, ordered = self._over(question, passages, window)
        if not isinstance(window, Window) or not window.excess(whole):
            return whole, ordered, 0
        room = room_for(whole, len(passages), window.context or 0, window)
        n = n_fitting(window.count([row["text"] for row in passages]), room)
        if n:
            return *self._over(question, passages[:n], window), len(passages) - n
        if room.is_too_small:  # the model rejects the request with the reason
            return whole, ordered, len(passages)
        best = cut_to_tokens(passages[0]["text"], room.tokens - room.mark, window)
        cut = [{**passages[0], "text": best}]
        return *self._over(question, cut, window), len(passages)

    def _over(
        self, question: dict, passages: Sequence[dict], window: Window | None
    ) -> tuple[Request, Sequence[dict]]:
        """Return the request over these passages, labelled if there is room, and their order."""
        ordered = reading_order(passages)
        request = answer_request(
            question,
            tuple(row["text"] for row in ordered),
            self.max_words,
            self.prompts,
            tuple(row["score"] for row in ordered) if self.weighted else (),
            self.by_kind,
            all(row["node_kind"] == KEY_POINT for row in ordered),
            self.response_type,
        )
        if self.label_of is None:
            return request, ordered
        labelled = replace(request, labels=tuple(map(self.label_of, ordered)))
        is_long = isinstance(window, Window) and window.excess(labelled)
        if not is_long and self.prompt_tokens is not None:
            n_tokens = sum(n_word_pieces([labelled.instructions, labelled.render()]))
            is_long = n_tokens > self.prompt_tokens
        return request if is_long else labelled, ordered


def answer_room(
    question: dict,
    prompt_tokens: int,
    max_words: int,
    count_tokens: CountTokens,
    of_points: bool = False,
) -> Room:
    """Return the room that the prompt to answer a row of `queries` leaves to its passages."""
    bare = answer_request(question, (), max_words, of_points=of_points)
    return room_for(bare, MOST_MARKED, prompt_tokens, count_tokens)


def question_text(question: dict) -> str:
    """Return the text of a row of `queries` for a model: a choice with its options."""
    if question["form"] == "choice":
        return f"{question['text']}\n{listed(question['options'])}"
    return question["text"]


def reading_order(passages: Sequence[dict]) -> list[dict]:
    """Return rows of `contexts`, best first, by document, that of the best passage first.

    Passages without a position, such as responses, follow those of their document, best first.
    """
    documents: dict[str, list[dict]] = {}
    for row in passages:
        documents.setdefault(row["document_id"] or "", []).append(row)

    def position(row: dict) -> tuple[bool, int, str]:
        is_elsewhere = row["position"] is None
        return is_elsewhere, row["rank"] if is_elsewhere else row["position"], row["text"]

    return [row for rows in documents.values() for row in sorted(rows, key=position)]


def _passages(contexts: pa.Table) -> dict[Key, list[dict]]:
    """Return the rows of each context, best first, without passages that refinement left empty."""
    ordered = contexts.select(_READ).sort_by(
        [("query_id", "ascending"), ("sample", "ascending"), ("rank", "ascending")]
    )
    passages: dict[Key, list[dict]] = {}
    for row in ordered.to_pylist():
        rows = passages.setdefault((row["query_id"], row["sample"]), [])
        if row["text"]:
            rows.append(row)
    return passages
