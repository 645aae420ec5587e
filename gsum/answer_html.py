"""An answer as HTML for a notebook: its sentences with numbers, and sources that unfold."""

from collections.abc import Iterator
from html import escape

from gsum_assets.answering.ask import Answer
from gsum_assets.answering.sources import Source
from gsum_assets.evaluation.answer_sentences import Line, Sentence

# Colours are shades of the notebook's own, so that they fit a light and a dark one.
_STYLE = """
.gsum-answer { max-width: 46rem; line-height: 1.5; }
.gsum-answer p { margin: .3em 0; white-space: pre-line; }
.gsum-answer .refusal { border-left: 4px solid #b8860b; background: rgb(218 165 32 / .16);
  padding: .4em .8em; }
.gsum-answer sup { color: #2f7fc1; font-size: .75em; }
.gsum-answer .open { text-decoration: underline dotted #c0392b 2px; text-underline-offset: 3px; }
.gsum-answer .open sup, .gsum-answer sup.wrong { color: #d4543f; font-weight: 600; }
.gsum-answer details { margin: .2em 0; border-top: 1px solid rgb(128 128 128 / .3); }
.gsum-answer details details { margin-left: 1.2em; border: 0; }
.gsum-answer summary { cursor: pointer; }
.gsum-answer blockquote { margin: .3em 0 .6em 1.2em; opacity: .9; white-space: pre-line; }
.gsum-answer mark { background: rgb(255 200 40 / .4); color: inherit; }
.gsum-answer small { opacity: .7; }
"""


def answer_html(answer: Answer, method: str, writer: str) -> str:
    """Return an answer with its sources; a passage unfolds, its sentences in the answer marked.

    It runs no script and loads nothing. A sentence without a source is underlined, and so is one
    whose source does not support it; an answer that the documents do not say is in a colour of its
    own.
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
    parts.append(f"<p><small>found by {escape(method)}; {escape(writer)}</small></p></div>")
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
    return "".join(_pieces(source))


def _pieces(source: Source) -> Iterator[str]:
    reached = 0
    for start, end in source.marked:
        yield escape(source.text[reached:start])
        yield f"<mark>{escape(source.text[start:end])}</mark>"
        reached = end
    yield escape(source.text[reached:])
