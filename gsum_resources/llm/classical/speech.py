"""Transcribed speech: its speakers, and its text without noise.

Words are only deleted or joined, never replaced, so that a trimmed sentence contains only words of
its speaker.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gsum_resources.llm.classical.vocabulary import FUNCTION_WORDS, word_set

_LABEL = re.compile(
    r"^[ \t]*([^\W\d_][^\n:?!;()\"“”]{0,47}?)"  # a name,
    r"(?: \([^\n()]{1,80}(?:\([^\n()]*\)[^\n()]*)?\))?"  # an optional office in brackets,
    r"[ \t]*:[ \t]+(?=\S)",
    re.MULTILINE,
)
_NOBODY = "Nobody In Particular"
_NAME_WORDS = word_set(
    """
    of the and de van von der la le du
    """
)
_MARK = re.compile(r"\{[^{}\n]{0,40}\}|<[a-z]{3,20}>|\[(?:[a-z]+[ -]?){1,3}\]|@@|@ @")
_UNIT = r"[^\W\d_]+(?:['’\-][^\W\d_]+)*"
_REPEAT = re.compile(rf"\b({_UNIT}(?: {_UNIT}){{0,3}})(?:[ ,—-]+\1\b)+(?!['’-])", re.IGNORECASE)
_TRUE_DOUBLES = frozenset(("that", "had", "very", "really", "no", "bye", "never"))
_CUT_OFF = re.compile(r"\b[^\W\d_]{1,12}[-—–](?=[ ,.?!]|$)[ ,]*")
_FILLER = r"(?:u[hm]+|umm+|erm*|a+h+|eh|hm+|mm+|mm[- ]?hmm+|uh[- ]huh|huh|oh|ooh)"
_FILLERS = re.compile(rf"(?:[ ,]*(?<!['’\w-]){_FILLER}(?!['’\w-]))+(?=[ ,.?!;—-]|$)[ ]*,?", re.I)
_ASIDE = r"(?:you know|i mean|i guess|i suppose|let's say|let's see|if you like|as i said|you see)"
_SET_OFF = re.compile(
    rf"(?:^|[ ]*[,—])[ ]*(?:{_ASIDE}|like|well|so|okay|right|basically|actually|yeah|sort of"
    rf"|kind of|obviously)[ ]*,",
    re.I,
)
_LOOSE = re.compile(
    r"(?<!do )(?<!did )(?<!if )(?<!as )(?<!that )(?<!what )\byou know\b(?! (?:what|that|how|if|"
    r"who|why|where|when|whether|about|the|it|him|her|them|me|us)\b)[ ,]*"
    r"|(?<!what )(?<!do )(?<!think )(?<!that )\bi mean\b[ ,]+"
    r"|(?<!the )(?<!this )(?<!that )(?<!what )(?<!some )(?<!any )(?<!a )(?<!one )(?<!same )"
    r"(?<!which )(?<!of )(?<!right )(?<!other )\b(?:sort|kind) of (?=[a-z])",
    re.I,
)
# Inside a sentence these are fillers. "Just", "really" and "I think" have a meaning.
_HEDGE = re.compile(r"(?<=\w )(?:actually|basically|obviously) (?=\w)", re.IGNORECASE)
_OPENER = re.compile(
    r"^(?:(?:(?:ok|okay|o\.k\.|yes|yeah|yep|yup|no|nope|right|alright|all right|well|so|sure|fine"
    r"|exactly|good|great|cool|anyway|now|then|also|thanks|thank you|i mean|you know"
    r"|i guess|sorry|but|and|or|because|cuz|'cause|like|actually|basically|of course)"
    r"(?:[ ]*[,.—-]+[ ]*))|(?:and then|and so|so then|but then|and|but|so|because|cuz|'cause|well"
    r"|okay|yeah|then|or) (?=\w))+",
    re.I,
)
_LONE_LETTER = re.compile(r"(?<=[a-z,] )[b-hj-z](?= [a-z])(?! is\b)")
# A repeated beginning of a word ("rem remote"), but not a complete short word ("in into").
_BEGUN = re.compile(r"(?<!['’\w-])([^\W\d_](?:[^\W\d_]|-)*)[ ,]+(?=\1['’\w-])", re.IGNORECASE)
_NO_VOWEL = re.compile(r"(?<!['’\w.\d-])(?<!\d )([b-df-hj-np-tv-xz]{2,4}) (?=[a-z])")
_UNITS = word_set(
    "kg km mm cm ml db hz khz tv pc cd dvd vs mr mrs ms dr hr hrs ft lb pm pp nth kb mb gb"
)


@dataclass(frozen=True)
class Turn:
    """Text of one speaker without interruption; `speaker` is "" if the text names none."""

    speaker: str
    text: str


def is_speech(speakers: Sequence[str]) -> bool:
    """Return whether a quarter or more of some sentences have a speaker; "" for none.

    At least 46% have one in each of QMSum's train meetings, and none in SQuALITY's stories.
    """
    return 4 * sum(map(bool, speakers)) >= max(1, len(speakers))


def speaker_labels(texts: Iterable[str]) -> frozenset[str]:
    """Return the line beginnings of the form "Name:" that name speakers.

    A label counts if it recurs, or if most lines of the texts begin with one, so that a single
    "Note:" in a story does not count.
    """
    counts: Counter[str] = Counter()
    lines = 0
    for text in texts:
        lines += sum(1 for line in text.splitlines() if line.strip())
        counts.update(m[1] for m in _LABEL.finditer(text) if _name_like(m[1]))
    if lines and sum(counts.values()) >= 0.5 * lines:
        return frozenset(counts)
    return frozenset(label for label, n in counts.items() if n > 1)


def _name_like(label: str) -> bool:
    words = label.split()
    capitals = all(w[0].isupper() or w[0].isdigit() or w in _NAME_WORDS for w in words)
    return len(words) <= 6 and capitals and not label.endswith((".", ",", "-"))


def turns(text: str, labels: frozenset[str]) -> list[Turn]:
    """Split a text at its speaker labels; words before the first label have no known speaker.

    A passage may begin inside a label ("C: I think" of "Postdoc C: I think"): the label is
    completed if only one speaker matches. A line after "– " has no known speaker either: summaries
    show such sentences this way (`rendering.py`), and are used as passages.
    """
    found, end, speaker = [], 0, ""
    cut = re.match(r"[^\n:]{0,40}:[ \t]", text) if labels else None
    tail = cut[0].rstrip(": \t") if cut else ""
    if cut and tail not in labels:
        whole = [label for label in labels if label.endswith(tail)]
        if whole:
            end, speaker = cut.end(), whole[0] if len(whole) == 1 else ""
    if labels:
        text = re.sub(r"^– (?=\S)", f"{_NOBODY}: ", text, flags=re.MULTILINE)
        labels = labels | {_NOBODY}
    for match in _LABEL.finditer(text):
        if match[1] in labels:
            found.append(Turn(speaker, text[end : match.start()].strip()))
            speaker, end = "" if match[1] == _NOBODY else match[1], match.end()
    found.append(Turn(speaker, _without_cut_label(text[end:], labels)))
    return [turn for turn in found if turn.text]


def _without_cut_label(text: str, labels: frozenset[str]) -> str:
    """Return the last turn without the truncated label at its end, if any."""
    body, _, last = text.rpartition("\n")
    last = last.strip().rstrip(":")
    cut = last and any(label.startswith(last) for label in labels)
    return (body if cut else text).strip()


def is_spoken(text: str, share: float = 0.01) -> bool:
    """Return whether the share of fillers among the words indicates speech."""
    fillers = len(_FILLERS.findall(text)) + len(_LOOSE.findall(text))
    return fillers > share * len(text.split())


def join_interrupted(talk: list[Turn]) -> list[Turn]:
    """Join a turn that stops inside a sentence with its continuation after an interjection.

    "A: rechargeable batteries and / B: Mm-hmm. / A: a stand." is one statement of A.
    """
    joined: list[Turn] = []
    for turn in talk:
        if joined and joined[-1].speaker == turn.speaker:
            joined[-1] = Turn(turn.speaker, f"{joined[-1].text} {turn.text}")
            continue
        previous = joined[-2] if len(joined) > 1 else None
        resumes = previous and previous.speaker == turn.speaker and _open_ended(previous.text)
        if previous and resumes and len(joined[-1].text.split()) <= 3:
            joined.pop()
            joined[-1] = Turn(turn.speaker, f"{previous.text} {turn.text}")
            continue
        joined.append(turn)
    return joined


def _open_ended(text: str) -> bool:
    return text.rstrip()[-1:] not in (".", "?", "!", "…", '"', "”")


def tidy_spacing(text: str) -> str:
    """Undo tokenized spacing: `I 'm` to `I'm`, ` ,` to `,`, `user - friendly` to one word."""
    text = re.sub(r"\s+", " ", _MARK.sub(" ", text))
    tokenized = re.search(r"\w [,.?!](?: |$)| '(?:s|m|re|ve|ll|d)\b", text) is not None
    if not tokenized:
        return text.strip()
    text = re.sub(r"(?<=\w) - (?=\w)", "-", text)
    text = re.sub(r"(?<=\w) (?=(?:['’](?:s|m|re|ve|ll|d|t)|n['’]t)\b)", "", text)
    text = re.sub(r" +(?=[,.;:?!%)](?:\W|$))", "", text)
    return re.sub(r"\$ (?=\d)", "$", text).strip()


_ENDED = re.compile(r"[.?!…:\"”'][)\]]*$")


@lru_cache(maxsize=2**16)  # methods share sentences in their contexts; about 20 MB
def trim_speech(sentence: str) -> str:
    """Remove fillers, openers, false starts and repetitions from one spoken sentence."""
    text = re.sub(r"^[B-HJ-Z] (?=[a-z])", "", tidy_spacing(sentence))
    ending = text[-1:] if text[-1:] in ".?!" else ""
    for _ in range(2):  # removing a filler can join two halves of a repetition
        text = _FILLERS.sub(" ", text)
        text = _CUT_OFF.sub("", text) if re.search(r"\w[-—–](?=[ ,.?!]|$)", text) else text
        text = _SET_OFF.sub(_keep_comma, text)
        text = _HEDGE.sub("", _LOOSE.sub("", text))
        text = _BEGUN.sub(_unless_word, text)
        text = _NO_VOWEL.sub(_unless_unit, text)
        text = _LONE_LETTER.sub("", text)
        text = re.sub(r" {2,}", " ", text).strip()
        text = _REPEAT.sub(_once, text)
        text = _OPENER.sub("", text.lstrip(" ,.;—-"))
    text = re.sub(r" +(?=[,.;?!])", "", text)
    text = re.sub(r"(?:, ?){2,}", ", ", text)
    text = re.sub(r"[ ,;—-]+$", "", re.sub(r"[ ,;—-]+([.?!]+)$", r"\1", text.strip(" ,;—-")))
    text = re.sub(r",?[ ](?:and|but|or|right|okay|yeah|you know|i mean)(?=[.?!]?$)", "", text)
    if not re.search(r"\w", text):
        return ""
    if not _ENDED.search(text):  # a heading keeps its colon, so that it is not a statement
        text += ending or "."
    return text[0].upper() + text[1:]


def _unless_word(match: re.Match[str]) -> str:
    word = match[1].lower()
    whole = word in FUNCTION_WORDS or word in ("i", "a")
    again = match.string[match.end() + len(word) :][:1] in ("'", "’")  # "they they've"
    return match[0] if whole and not again else ""


def _unless_unit(match: re.Match[str]) -> str:
    return match[0] if match[1] in _UNITS else ""


def _keep_comma(match: re.Match[str]) -> str:
    conjunction = re.match(r" *(?:and|but|so|because|which|or)\b", match.string[match.end() :])
    return ", " if match.start() and conjunction else " "


def _once(match: re.Match[str]) -> str:
    unit = match[1]
    following = match.string[match.end() :].split(maxsplit=1)
    if " " in unit and following and following[0].strip(",.") == unit.split()[0]:
        return match[0]  # "coast to coast to coast" is intended
    return (
        match[0]
        if unit.lower() in _TRUE_DOUBLES or (len(unit) == 1 and unit not in "IAa")
        else unit
    )
