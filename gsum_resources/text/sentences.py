"""Sentences of a text: prose, dialogue, hard-wrapped lines, lists, and speech with its turns."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

from gsum_resources.text.passages import join_overlapping
from gsum_resources.text.records import CLOSES, ENDS, Kind, cells, records
from gsum_resources.text.speech import (
    is_spoken,
    join_interrupted,
    names_speaker,
    speaker_labels,
    tidy_spacing,
    trim_speech,
    turns,
)
from gsum_resources.text.vocabulary import word_list, word_set

_ABBREVIATIONS = word_list("abbreviations")
_FIRST = "A-Z0-9À-ÞΑ-ЯЁ\u0590-\u1dff\u2e80-\uffff"  # the last two: scripts without capitals
_OPENS = "[\"'“‘(\\[「『]*"
_BOUNDARY = re.compile(
    rf"([{ENDS}]+)([{CLOSES}]*)\s+(?={_OPENS}[{_FIRST}£$€—]|…\w)|[。！？｡]+[{CLOSES}]*(?=.)"
)
_BEGINS, _ENDED = re.compile(rf"{_OPENS}[{_FIRST}]"), re.compile(rf"[{ENDS}:][{CLOSES}]*$")
_CLAUSE = re.compile(r"(?:;|,) (?=(?:and|but|so|because|cuz|then|which means|or) \w)|; ")
# A transcript may break off a sentence without a mark; the next one begins with a capital.
_RESTART = re.compile(
    r"(?<=[a-z]) (?=(?:So|And|But|It|It's|We|We're|The|That|That's|You|They|This|There|If"
    r"|What|Or|He|She|Because|My|Our|Maybe|Yeah|Okay|Well|Oh|Then|Now|How|When|Also)[, ][ a-z])"
)
FINITE = re.compile(
    r"\b(?:is|are|am|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may"
    r"|might|must|need|needs|let|i|you|he|she|we|they|who|[a-z]{3,}ed|isn|aren|don|doesn|didn|said"
    r"|says|came|went|took|made|gave|saw|knew|got|told|felt|found|kept|left|stood|put|makes|gives"
    r"|wants|works|means)\b|['’](?:s|re|ve|ll|d|m)\b",
    re.IGNORECASE,
)
"""A sign of a finite verb."""

_LONG_TURN = 4096  # characters; the sentences of longer ones are not kept
_RUN_IN = 4  # words; of a first sentence that is the heading of its paragraph: "Music."
_OF_ORDINAL = re.compile(
    r"\b(?:vom|zum|zur|beim|im|(?<!\bI )am|ab|bis|seit|den|dem|der|das|des) \d{1,2}$", re.IGNORECASE
)
_MONTHS = word_set(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    """
)
LONG = 40  # words; longer spoken sentences are split at clauses
SHORT = 7  # words; minimum length of a clause that is split off


@dataclass(frozen=True)
class Sentence:
    """A sentence prepared for output.

    Attributes
    ----------
    text : trimmed, without its speaker; "…" is where a passage's border cuts it.
    speaker : name of the speaker; "" for prose.
    run : index of its run of joined passages.
    whole : False if a passage's border cuts its beginning or end.
    turn : index of its turn in the run.
    record : index of its record in the turn.
    kind, lead, heading : as of `Record`.
    source : the label of its passage, such as its document's name and date; "" if unknown.
    """

    text: str
    speaker: str
    run: int
    whole: bool = True
    turn: int = 0
    kind: Kind = "prose"
    lead: str = ""
    heading: str = ""
    source: str = ""
    record: int = 0

    @property
    def embedded(self) -> str:
        """The text to embed: a row of a table has the name of its column before each cell."""
        if self.kind != "row" or not self.lead:
            return self.text
        pairs = zip_longest(cells(self.lead), cells(self.text), fillvalue="")
        return "; ".join(f"{name}: {cell}".strip(": ") for name, cell in pairs if cell)

    @property
    def is_record(self) -> bool:
        """Whether it states something without a verb, by its form."""
        return self.kind in ("row", "form", "list") and not self.speaker


def read_sentences(passages: Sequence[str], sources: Sequence[str] = ()) -> list[Sentence]:
    """Return the distinct sentences of all passages, in document order as far as known.

    Passages are given best first, `sources` are their labels; overlapping ones are joined. Spoken
    sentences lose their disfluencies; those that consist of noise are left out.
    """
    runs = join_overlapping(passages)
    labels = speaker_labels(runs)
    sentence_of: dict[str, Sentence] = {}
    for index, run in enumerate(runs):
        label = next((s for p, s in zip(passages, sources, strict=False) if p.strip() in run), "")
        for sentence in _read_run(run, index, labels):
            key = f"{label}\t{sentence.speaker}\t{sentence.text.lower()}"
            sentence_of.setdefault(key, replace(sentence, source=label) if label else sentence)
    return list(sentence_of.values())


def _read_run(run: str, index: int, labels: frozenset[str]) -> list[Sentence]:
    talk = turns(run, labels)
    spoken = any(turn.speaker for turn in talk) or is_spoken(run)
    talk = join_interrupted(talk) if spoken else talk
    sentences: list[Sentence] = []
    for position, turn in enumerate(talk):
        opens = position == 0 and not turn.speaker and not run.startswith("– ")
        closes = position == len(talk) - 1
        read = _read_turn if len(turn.text) < _LONG_TURN else _read_turn.__wrapped__
        sentences += [
            replace(sentence, speaker=turn.speaker, run=index, turn=position)
            for sentence in read(turn.text, opens, closes, spoken, bool(turn.speaker))
        ]
    return sentences


@lru_cache(maxsize=2**15)  # methods and questions share turns in their contexts; about 30 MB
def _read_turn(
    turn: str, opens: bool, closes: bool, spoken: bool, is_said: bool
) -> Sequence[Sentence]:
    """Return the sentences of a turn.

    `opens`, `closes`: a passage begins or ends with it, perhaps inside a sentence; `is_said`: by a
    known speaker.
    """
    sentences: list[Sentence] = []
    units = list(records(turn))
    for record, unit in enumerate(units):
        if unit.kind in ("row", "form", "list") and not is_said:
            sentences.append(Sentence(unit.text, "", 0, True, 0, *unit[1:], record=record))
            continue
        heading = unit.heading
        pieces = [unit.text] if unit.kind == "heading" else _split(unit.text)
        for k, piece in enumerate(pieces):
            is_first = opens and unit is units[0] and k == 0
            is_last = closes and unit is units[-1] and k == len(pieces) - 1
            # A passage that begins inside a sentence begins with a lower-case letter.
            begins = not piece.startswith("…") and not (is_first and not _BEGINS.match(piece))
            ends = bool(_ENDED.search(piece))
            texts = [(piece, True)]  # False: broken off
            if spoken:
                starts = _RESTART.split(tidy_spacing(piece))
                texts = [
                    (trimmed, start is starts[-1])
                    for start in starts
                    for clause in split_clauses(start)
                    if (trimmed := trim_speech(clause))
                ]
            elif piece.count('"') % 2:  # a half of a split quotation
                opened = f'{piece}"' if piece[0] == '"' else piece
                texts = [(f'"{piece}' if piece.endswith('"') else opened, True)]
            if texts and is_first and (not begins or (spoken and _may_go_on(turn))):
                text, complete = texts[0]  # in the case that the passage has
                is_changed = text.split()[0] not in piece
                text = text[0].lower() + text[1:] if is_changed else text
                texts[0] = f"…{text.lstrip('…')}", complete
            if texts and is_last and spoken and not ends:
                texts[-1] = f"{texts[-1][0].rstrip('.')} …", texts[-1][1]
            sentences += [
                Sentence(
                    text,
                    "",
                    0,
                    begins and ends and complete,
                    0,
                    unit.kind,
                    unit.lead,
                    heading,
                    record=record,
                )
                for text, complete in texts
            ]
            if k == 0 and len(piece.split()) <= _RUN_IN and not FINITE.search(piece):
                heading = f"{heading} {piece}".strip()
    return tuple(sentences)


def _may_go_on(turn: str) -> bool:
    """Return whether the first word is a number, or a name that occurs inside sentences, too."""
    word = turn.split(maxsplit=1)[0].strip(".,;:")
    is_within = re.search(rf"[a-z,] {re.escape(word)}\b", turn) is not None
    return word[:1].isdigit() or (len(word) > 1 and (word.isupper() or is_within))


def split_sentences(text: str) -> list[str]:
    """Split at sentence ends, but not at abbreviations, initials or in quoted speech.

    Headings, rows of tables, forms and items of lists stand alone, see `records`; other line
    breaks inside a paragraph are line wrapping.
    """
    split = (
        _split(record.text) if record.kind in ("prose", "item") else [record.text]
        for record in records(text)
    )
    return [sentence for sentences in split for sentence in sentences]


def _split(paragraph: str) -> list[str]:
    sentences, start = [], 0
    for match in _BOUNDARY.finditer(paragraph):
        if not _is_abbreviation(paragraph[start : match.start()], match, paragraph):
            sentences.append(paragraph[start : match.end()].strip())
            start = match.end()
    sentences.append(paragraph[start:].strip())
    return [s for s in sentences if s]


def _is_abbreviation(before: str, mark: re.Match[str], paragraph: str) -> bool:
    """Return whether a full stop ends an abbreviation, an initial or an ordinal, no sentence."""
    if mark[1] != ".":
        return False
    word = re.split(r"[\s(\[\"'“‘]", before)[-1]
    if re.fullmatch(r"\d{1,2}", word):  # "am 24. August", "im 3. Stock"
        follows = re.match(r"[^\W\d_]+", paragraph[mark.end() :])
        return bool(_OF_ORDINAL.search(before)) or (
            follows is not None and follows[0].lower() in _MONTHS
        )
    initial = re.fullmatch(r"(?:[A-Z]\.)*[A-Z]", word) is not None and word != "I"
    return initial or (word.replace(".", "").lower() in _ABBREVIATIONS and word[:1] != "")


def split_clauses(sentence: str, long: int = LONG, short: int = SHORT) -> list[str]:
    """Split a long spoken sentence before conjunctions, into pieces of `short` or more words."""
    if len(sentence.split()) <= long:
        return [sentence]
    pieces = [""]
    for clause in _CLAUSE.split(sentence):
        if pieces[-1] and len(pieces[-1].split()) >= short and len(clause.split()) >= short:
            pieces.append(clause)
        else:
            pieces[-1] = f"{pieces[-1]}, {clause}" if pieces[-1] else clause
    return pieces


def render_sentences(sentences: Sequence[Sentence], with_sources: bool = False) -> str:
    """Return speech with one line per turn (`Marketing: …`, or "– "), or prose as a paragraph.

    `with_sources`: the names of documents stand above their sentences, if there are several.
    Rows of tables, forms and lists have lines of their own. `read_sentences` can parse the text,
    because methods pass answers back as passages.
    """
    spoken = any(sentence.speaker for sentence in sentences)
    lines: list[str] = []
    last: Sentence | None = None
    with_sources &= len({sentence.source for sentence in sentences}) > 1
    for sentence in sentences:
        if with_sources and sentence.source and (not last or last.source != sentence.source):
            lines.append(f"{sentence.source}:")
            last = None
        if sentence.is_record:
            lines += [""] if last and last.speaker else []  # nobody says it
            is_led = last and sentence.lead in (last.lead, last.text)
            lines += [sentence.lead] if sentence.lead and not is_led else []
            lines.append(sentence.text)
        elif last and not last.is_record and (not spoken or _turn(last) == _turn(sentence)):
            lines[-1] = f"{_ended(lines[-1])} {sentence.text}"
        else:
            label = f"{sentence.speaker}: " if sentence.speaker else "– " if spoken else ""
            lines.append(label + sentence.text)
        last = sentence
    return "\n".join(lines)


def _turn(sentence: Sentence) -> tuple[str | int, ...]:  # one without a name may be another
    return (sentence.speaker,) if sentence.speaker else (sentence.run, sentence.turn)


def _ended(text: str) -> str:
    """Return a text with a full stop if its last block, such as a heading, has no mark at all."""
    return f"{text}." if text[-1:].isalnum() else text


def flat_text(text: str) -> str:
    """Return a text on one line, or on one for each of its lines if it names speakers."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return ("\n" if names_speaker(text) else " ").join(line for line in lines if line)


def join_texts(texts: Iterable[str]) -> str:
    """Join texts by blanks, or by line breaks if any of them names speakers.

    A text that names none begins with "– " then, so that no speaker of an earlier one says it.
    """
    flat_texts = [flat for text in texts if (flat := flat_text(text))]
    if not any(map(names_speaker, flat_texts)):
        return " ".join(flat_texts)
    return "\n".join(map(as_turn, flat_texts))


def as_turn(text: str) -> str:
    """Return a text with "– " at its beginning, unless it begins with a name or heading."""
    first = text.partition("\n")[0]
    is_marked = names_speaker(first) or re.match(r"[-–#*•] ", first) or first.endswith(":")
    return text if is_marked else f"– {text}"
