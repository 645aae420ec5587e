"""An answer as text, as JSON and as HTML for a notebook, and how it came about."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from gsum_assets.answering.answer import Answer, Source
from gsum_assets.evaluation.answer_sentences import Line, Sentence
from gsum_assets.pipeline.result import count
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.text.question_kinds import rule_of

_WIDTH = 96
_NULLABLE = ("understood", "model", "explanation", "note")
_STYLE = Path(__file__).with_name("answer.css").read_text("utf-8")


def answer_lines(answer: Answer, settings_file: Path | str, ids: bool = False) -> Iterator[str]:
    """Yield an answer as it is printed: its text, its sources, and the model that wrote it.

    `settings_file` is the file in which models are set; with `ids`, ids are shown, and sources of
    no sentence, too.
    """
    if answer.understood:
        yield from (f"understood as: {answer.understood}", "")
    for line in answer.numbered_text.splitlines():  # one speaker's turn each
        yield from textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    doubts = []
    if any(sentence.label == "[?]" for sentence in answer.sentences):
        doubts.append("[?]: no source was found")
    if numbers := [number for sentence in answer.sentences for number in sentence.unsupported]:
        n = min(numbers)
        doubts.append(f"[{n}?]: the model names passage {n}, which does not support it")
    if doubts:
        yield from ("", "; ".join(doubts))
    if answer.explanation:
        yield from ("", answer.explanation)
    if answer.sources:
        yield from ("", "what comes nearest:" if answer.is_refusal else "sources:")
    named = {n for s in answer.sentences for n in (*s.numbers, *s.unsupported)}
    for number, source in enumerate(answer.sources, 1):
        if not (ids or not named or number in named):
            continue
        shown_ids = f" ({source.document_id or '-'} {source.node_id})" if ids else ""
        yield f"{number:3d}. {source}{shown_ids}"
        start = source.marked[0][0] if source.marked else 0  # of the first sentence of the answer
        text = textwrap.shorten(
            f"{'… ' if start else ''}{source.text[start:]}", 2 * _WIDTH, placeholder=" …"
        )
        indent = " " * 5
        yield from textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
        for origin in source.origins:
            yield f"{indent}from {origin}"
    n_others = len(answer.sources) - len(named.intersection(range(1, len(answer.sources) + 1)))
    if n_others and named and not ids:
        yield f"     {n_others} other{'s were' if n_others > 1 else ' was'} read; --ids lists all"
    writer = answer.writer
    if answer.model == EXTRACTIVE:
        writer += (
            ", which selects sentences; it is not a language model. A model is set in [llm] of "
            f"{settings_file}"
        )
    yield from ("", f"found by {answer.method}; {writer}")
    if answer.note:
        yield answer.note


@dataclass(frozen=True)
class NumberedSource(Source):
    """A source with the number by which sentences name it, and the corpus of its document."""

    number: int = 0
    corpus: str = ""


@dataclass(frozen=True)
class AnswerObject(Answer):
    """An answer as `gsum ask --json` and `/api/ask` return it."""

    sources: Sequence[NumberedSource] = ()


def answer_object(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, see `AnswerObject`; what it has not is null."""
    sources = [
        NumberedSource(**vars(source), number=number, corpus=row.get("corpus", answer.corpus))
        for number, source in enumerate(answer.sources, 1)
        for row in (answer.passage(source),)
    ]
    plain = asdict(replace(answer, sources=sources))
    return plain | {name: plain[name] or None for name in _NULLABLE}


def answer_html(answer: Answer) -> str:
    """Return an answer with its sources; a passage unfolds, its sentences in the answer marked.

    A sentence without a source, or whose source does not support it, is underlined.
    """
    parts = [f"<div class='gsum-answer'><style>{_STYLE}</style>"]
    if answer.is_refusal or not answer.lines:
        of_kind = " class='refusal'" if answer.is_refusal else ""
        parts.append(f"<p{of_kind}>{escape(answer.text)}</p>")
    parts += map(_line, answer.lines if not answer.is_refusal else ())
    numbered = list(enumerate(answer.sources, 1))
    used = [(n, source) for n, source in numbered if source.marked or source.origins]
    unused = [(n, source) for n, source in numbered if not (source.marked or source.origins)]
    parts += [_source(n, source) for n, source in used]
    if unused:
        rest = "".join(_source(n, source) for n, source in unused)
        n = len(unused)
        label = f"{n} passage{'s' if n > 1 else ''} read without a sentence in the answer"
        if not answer.passages:
            label = "what comes nearest"
        parts.append(f"<details><summary><small>{label}</small></summary>{rest}</details>")
    lines = (f"found by {answer.method}; {answer.writer}", answer.note)
    parts += [f"<p><small>{escape(line)}</small></p>" for line in lines if line]
    parts.append("</div>")
    return "".join(parts)


def _line(line: Line) -> str:
    return f"<p>{escape(line.mark)}{' '.join(map(_sentence, line.sentences))}</p>"


def _sentence(sentence: Sentence) -> str:
    text, wrong = escape(sentence.text), [f"{n}?" for n in sentence.unsupported]
    if sentence.needs_source:
        title = "a passage that does not support it" if wrong else "no source was found"
        label = ", ".join(wrong) or "?"
        return f"<span class='open' title='{title}'>{text}<sup>[{label}]</sup></span>"
    numbers = f"<sup>[{', '.join(map(str, sentence.numbers))}]</sup>" if sentence.numbers else ""
    more = f"<sup class='wrong' title='does not support it'>[{', '.join(wrong)}]</sup>"
    return f"{text}{numbers}{more if wrong else ''}"


def _source(number: int, source: Source) -> str:
    origins = "".join(
        f"<details><summary><small>from {escape(str(origin))}</small></summary>"
        f"<blockquote>{_marked(origin)}</blockquote></details>"
        for origin in source.origins
    )
    return (
        f"<details><summary>[{number}] {escape(str(source))}</summary>"
        f"<blockquote>{_marked(source)}</blockquote>{origins}</details>"
    )


def _marked(source: Source) -> str:
    text, reached, pieces = source.text, 0, []
    for start, end in source.marked:
        pieces += [escape(text[reached:start]), f"<mark>{escape(text[start:end])}</mark>"]
        reached = end
    return "".join([*pieces, escape(text[reached:])])


def explained(
    question: str,
    method: str,
    passages: Sequence[Mapping[str, Any]],
    verdict: Mapping[str, Any] | None,
) -> str:
    """Return the kind of a question, whether it is answerable, and what was read, a line each.

    `passages` are rows of `contexts`, `verdict` is one of `answerability`; None: not judged.
    """
    rule = rule_of(question)
    answerable = "not judged"
    if verdict is not None and verdict["probability"] is not None:
        bound = "at least" if verdict["is_answered"] else "less than"
        least = f"{bound} {verdict['threshold']:.3f}"
        answerable = f"probability {verdict['probability']:.3f}, {least}"
    documents = {row["document_id"] for row in passages if row["document_id"]}
    of_documents = f" of {count(len(documents), 'document')}" if documents else ""
    return (
        f"kind of question: {rule.kind.replace('_', ' or ')}; it {rule.shown}\n"
        f"answerable: {answerable}\n"
        f"read: {count(len(passages), 'passage')}{of_documents}, found by {method}"
    )
