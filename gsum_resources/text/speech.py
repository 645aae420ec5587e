"""Transcribed speech: its speakers, and its text without noise.

Words are only deleted or joined, never replaced, so that a trimmed sentence contains only words of
its speaker.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gsum_resources.text.vocabulary import FUNCTION_WORDS, word_set

_TIME = r"[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?[\])]?"
_LABEL = re.compile(
    r"^(?=[^\n:–—-]*[:–—-])"  # most lines have no such mark, and need no further look
    r"[ \t]*(?:>+[ \t]*)?(?:[-*•][ \t]+)?"  # in a quotation, or an item of a list,
    rf"(?:{_TIME}(?:[ \t]+(?:[-–—][ \t]+)?))?(?:\*\*|__)?\[?"  # behind a time, in bold
    r"([^\W\d_][^\n:?!;()\[\]*\"“”]{0,47}?)"  # a name,
    r"(?: \([^\n()]{1,80}(?:\([^\n()]*\)[^\n()]*)?\))?\]?"  # an optional office in brackets,
    r"(?:(?:[ \t]+\[\d[\d:.]*\])?(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]+(?=\S)"  # a colon
    rf"|[ \t]+{_TIME}[ \t]*$"  # a time, alone on its line,
    r"|(?P<dash>(?:\*\*|__)?[ \t]+[-–—][ \t]+(?=\S)))",  # or a dash
    re.MULTILINE,
)
_MOST_EARLIER = 0.1  # share of the times of a transcript that are before the last one
_CLOCK = re.compile(r"\d{1,2}(?::\d{2}){1,2}")
# A line that does not continue a turn: blank, a heading, an item, or of an unknown speaker.
_NOT_CONTINUED = re.compile(r"^(?:[ \t]*$|[ \t]*(?:#|[-–*•][ \t])|.*:[ \t]*$)")
_NO_NAMES = word_set(
    """
    note notes nb warning figure fig table example source date subject re from to cc todo summary
    chapter part section act scene volume book appendix step item question answer
    present absent apologies attendees participants agenda place location time venue title author
    decision decisions action actions result results
    beschluss beschlüsse abstimmung ergebnis antrag anwesend anwesende entschuldigt datum ort zeit
    leitung protokoll zuständig betreff hinweis frage antwort
    décision présents excusés lieu objet résultat réponse
    """
)
_FIELDS = word_set(
    """
    name surname born birth birthday age date day year month phone telephone mobile email mail fax
    web website street city town country postcode zip price cost costs fee total sum amount quantity
    number no id reference status type kind category size weight height length colour color model
    make serial version owner member members seats vote votes voted result motion moved seconded
    for against duration start end begin room chair secretary treasurer salary job position
    department nationality signature datum geboren preis betrag telefon adresse ort anzahl nummer
    """
)
_NAME_WORDS = word_set(
    """
    of the and de van von der la le du
    """
)
_UNIT = r"[^\W\d_]+(?:['’\-][^\W\d_]+)*"
_REPEAT = re.compile(rf"\b({_UNIT}(?: {_UNIT}){{0,3}})(?:[ ,—-]+\1\b)+(?!['’-])", re.IGNORECASE)
_TRUE_DOUBLES = frozenset(("that", "had", "very", "really", "no", "bye", "never"))
_ENGLISH = re.compile(r"\b(?:the|and|of|to|is|that|you|it|we|i|was|for)\b", re.IGNORECASE)
_FOREIGN = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|ein|eine|den|wir|wie|wer|was|wann|le|la|les|et|est|des|un|une|du|au|el|los|que|de|es"
    r"|il|che|di|uma|em|não|het|een|en|og|det|på|och|att)\b",
    re.IGNORECASE,
)
_FILLER = r"(?:u[hm]+|umm+|erm*|a+h+|eh|hm+|mm+|mm[- ]?hmm+|uh[- ]huh|huh|oh|ooh)"
_FILLER_WORD = re.compile(rf"\b(?=[uehamo]){_FILLER}", re.I)
_FILLERS = re.compile(
    rf"(?:[ ,]*(?<!['’\w-])(?-i:(?!ER\b|HM\b)){_FILLER}(?!['’\w-]))+(?=[ ,.?!;—-]|$)[ ]*,?", re.I
)
_ASIDE = r"(?:you know|i mean|i guess|i suppose|let's say|let's see|if you like|as i said|you see)"
_SET_OFF = re.compile(
    rf"(?:^|[ ]*[,—])[ ]*(?:{_ASIDE}|like|well|so|okay|right|basically|actually|yeah|sort of"
    rf"|kind of|obviously)[ ]*,",
    re.I,
)
_LOOSE = re.compile(
    r"\b(?=you know|i mean|(?:sort|kind) of )(?:"  # so that few characters are looked at further
    r"(?<!do )(?<!did )(?<!if )(?<!as )(?<!that )(?<!what )you know\b(?! (?:what|that|how|if|"
    r"who|why|where|when|whether|about|the|it|him|her|them|me|us)\b)[ ,]*"
    r"|(?<!what )(?<!do )(?<!think )(?<!that )i mean\b[ ,]+"
    r"|(?<!the )(?<!this )(?<!that )(?<!what )(?<!some )(?<!any )(?<!a )(?<!one )(?<!same )"
    r"(?<!which )(?<!of )(?<!right )(?<!other )(?:sort|kind) of (?=[a-z]))",
    re.I,
)
# Inside a sentence these are fillers. "Just", "really" and "I think" have a meaning.
_HEDGE = re.compile(r"(?<=\w )(?:actually|basically|obviously) (?=\w)", re.IGNORECASE)
# "No", "sorry" and "because" have a meaning, and so has "so" in "so many" or "so do I".
_OPENER = re.compile(
    r"^(?:(?:(?:ok|okay|o\.k\.|yes|yeah|yep|yup|right|alright|all right|well|so|sure|fine"
    r"|exactly|good|great|cool|anyway|now|then|also|i mean|you know"
    r"|i guess|but|and|or|like|actually|basically)"
    r"(?:[ ]*[,.—-]+[ ]*))|(?:and then|so then|but then|and|but|okay|yeah|then|or"
    r"|(?:and )?so(?! (?:many|much|far|long|few|little|do|does|did|is|was|are|be|will|would)\b)"
    r") (?=\w))+",
    re.I,
)
# A repeated beginning of a word ("th the", "wan- want"), but no word ("in into", "car carried").
_BEGUN = re.compile(
    r"(?<!['’\w-])([^\W\d_](?:[^\W\d_]|-)*?)([-—–]?)[ ,]+(?=\1['’\w-])", re.IGNORECASE
)
_LONGEST_BEGUN = 2  # letters, without a dash and with a vowel


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


def speaker_labels(texts: Sequence[str]) -> frozenset[str]:
    """Return the line beginnings of the form "Name:" or "Name -" that name speakers.

    They do in a text in which one recurs, or most of whose lines begin with one, so that a single
    "Anne:" in a story does not count. In such a text all count, as one may speak a single time; in
    another text if one of them speaks elsewhere.
    """
    names: set[str] = set()
    others: list[frozenset[str]] = []
    for text in texts:
        lines = sum(1 for line in text.splitlines() if line.strip())
        matches = [m for m in _LABEL.finditer(text) if _name_like(m[1])]
        dashed = _dashed_turns(matches, lines)
        begins = dashed or [m for m in matches if not m["dash"]]
        labels = Counter(m[1] for m in begins)
        timed = [time for m in begins for time in _CLOCK.findall(m[0].replace(m[1], ""))[:1]]
        earlier = sum(_hours(later) < _hours(time) for time, later in pairwise(timed))
        # the hours of several days, or a form, are no transcript
        if earlier > _MOST_EARLIER * len(timed) or (not timed and _is_form(text, begins)):
            others.append(frozenset())
            continue
        lines -= sum(text[m.end() : m.end() + 1] in ("", "\n") for m in begins)  # names alone
        # an agenda has times without seconds, and each label once
        n_plain = labels.total() - sum(time.count(":") == 1 for time in timed)
        if max(labels.values(), default=0) > 1 or (n_plain and 2 * n_plain >= lines):
            names.update(labels)
        else:
            others.append(frozenset(labels))
    shared = Counter(label for labels in others for label in labels)
    names.update(label for label, n in shared.items() if n > 1 and not _is_noun(label, texts))
    return frozenset(names).union(*(labels for labels in others if not names.isdisjoint(labels)))


def _is_noun(label: str, texts: Sequence[str]) -> bool:
    """Return whether texts have a label of one word in lower case, as "the budget"."""
    return " " not in label and any(
        re.search(rf"\b{re.escape(label.lower())}\b", text) for text in texts
    )


def _is_form(text: str, labels: Sequence[re.Match[str]]) -> bool:
    """Return whether labels are those of "Key: value" lines, most without a mark at their end.

    Each stands once then, or fields of forms are among them.
    """
    names = [label[1] for label in labels]
    values = [text[m.end() :].partition("\n")[0].strip() for m in labels]
    n_ended = sum(bool(_ENDED.search(value)) for value in values)
    n_fields = sum(not _FIELDS.isdisjoint(name.casefold().split()) for name in set(names))
    has_fields = 3 * n_fields >= len(set(names))
    is_form = len(set(names)) == len(names) > 2 and 5 * n_ended <= len(values)
    return bool(values) and (is_form or (has_fields and 2 * n_ended <= len(values)))


def _dashed_turns(matches: Sequence[re.Match[str]], n_lines: int) -> list[re.Match[str]]:
    """Return the matches with a dash if they are turns of a talk, no glossary, list of prices, …

    That is, half of the lines are sentences behind two or more names, one of which recurs.
    """
    ends = [(m, m.string[m.end() :].partition("\n")[0].rstrip()) for m in matches if m["dash"]]
    turns_of = Counter(m[1] for m, line in ends if _ENDED.search(line))
    is_talk = 2 * turns_of.total() >= n_lines and turns_of.total() > len(turns_of) > 1
    return [m for m, _ in ends] if is_talk else []


def _hours(clock: str) -> float:
    """Return a time of minutes and seconds, or with hours; hours and minutes grow alike."""
    parts = [int(part) for part in clock.split(":")]
    return sum(part / 60**i for i, part in enumerate(parts if len(parts) == 3 else [0, *parts]))


def label_spans(text: str) -> list[tuple[int, int]]:
    """Return the first character of each speaker's label in a text, and that of what follows it."""
    labels = speaker_labels([text])
    matches = _LABEL.finditer(text) if labels else ()
    return [match.span() for match in matches if match[1] in labels]


def names_speaker(text: str) -> bool:
    """Return whether a line of a text begins with "Name:"."""
    return any(_name_like(m[1]) for m in _LABEL.finditer(text) if not m["dash"])


def without_names(text: str) -> str:
    """Return a text on one line, without the names and marks at the beginning of its lines."""
    lines = re.sub(r"^[ \t]*– ", "", text, flags=re.MULTILINE)
    named = _LABEL.sub(
        lambda match: "" if _name_like(match[1]) and not match["dash"] else match[0], lines
    )
    return " ".join(named.split())


def _name_like(label: str) -> bool:
    words = label.split()
    capitals = all(w != w.lower() or w[0].isdigit() or w in _NAME_WORDS for w in words)
    is_name = capitals and words[0].casefold() not in _NO_NAMES
    return len(words) <= 6 and is_name and not label.endswith((".", ",", "-"))


def turns(text: str, labels: frozenset[str]) -> list[Turn]:
    """Split a text at its speaker labels; words before the first label have no known speaker.

    Neither have those after a blank line, in a heading or an item of a list, up to the next label,
    and those after "– ": summaries show such sentences this way (`rendering.py`), and are used as
    passages. A passage may end inside a label, which is then left out; none begins inside one.
    """
    if not labels:
        return [Turn("", text.strip())] if text.strip() else []
    parts = [("", "")]
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match and match[1] in labels:
            parts.append((match[1], line[match.end() :]))
        elif _NOT_CONTINUED.match(line):
            parts.append(("", re.sub(r"^[ \t]*– ", "", line)))
        else:
            parts[-1] = (parts[-1][0], f"{parts[-1][1]}\n{line}")
    speaker, text = parts[-1]
    earlier_lines, _, line = text.rpartition("\n")
    cut = line.strip().rstrip(":")
    if cut and any(label.startswith(cut) for label in labels):  # the end of the text cuts a label
        parts[-1] = (speaker, earlier_lines)
    return [Turn(name, part.strip()) for name, part in parts if part.strip()]


def turn_spans(text: str, labels: frozenset[str]) -> list[tuple[str, int, int]]:
    """Return the speaker, first character and one past the last of each turn of a whole document.

    Labels are not part of a turn. The speaker is "" as in `turns`.
    """
    spans: list[tuple[str, int, int]] = [("", 0, 0)]
    end = 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        match = _LABEL.match(line) if labels else None
        if match and match[1] in labels:
            spans.append((match[1], start + match.end(), end))
        elif labels and _NOT_CONTINUED.match(line.rstrip("\r\n")):
            spans.append(("", start, end))
        else:
            spans[-1] = (spans[-1][0], spans[-1][1], end)
    return [span for span in spans if text[span[1] : span[2]].strip()]


def is_english(text: str) -> bool:
    """Return whether a text has as many frequent words of English as of other languages."""
    return len(_FOREIGN.findall(text)) <= len(_ENGLISH.findall(text))


def is_spoken(text: str, share: float = 0.01) -> bool:
    """Return whether the share of fillers among the words indicates speech, in English.

    "Um" and "er" are words of German, Portuguese and Danish.
    """
    loose, few = len(_LOOSE.findall(text)), share * len(text.split())
    # the words of fillers are at least as many, and found fastest
    may_be = len(_FILLER_WORD.findall(text)) + loose > few
    return may_be and is_english(text) and len(_FILLERS.findall(text)) + loose > few


def join_interrupted(talk: list[Turn]) -> list[Turn]:
    """Join a turn that stops inside a sentence with its continuation after an interjection.

    "A: rechargeable batteries and / B: Mm-hmm. / A: a stand." is one statement of A.
    """
    joined: list[Turn] = []
    for turn in talk:
        if joined and turn.speaker and joined[-1].speaker == turn.speaker:
            joined[-1] = Turn(turn.speaker, f"{joined[-1].text} {turn.text}")
            continue
        previous = joined[-2] if len(joined) > 1 else None
        if (
            previous
            and turn.speaker
            and previous.speaker == turn.speaker
            and previous.text.rstrip()[-1:] not in (".", "?", "!", "…", '"', "”")
            and len(joined[-1].text.split()) <= 3
        ):
            joined.pop()
            joined[-1] = Turn(turn.speaker, f"{previous.text} {turn.text}")
            continue
        joined.append(turn)
    return joined


def tidy_spacing(text: str) -> str:
    """Undo tokenized spacing: `I 'm` to `I'm`, ` ,` to `,`, `user - friendly` to one word."""
    text = re.sub(r"\s+", " ", text)
    tokenized = re.search(r"\w [,.?!](?: |$)| '(?:s|m|re|ve|ll|d)\b", text) is not None
    if not tokenized:
        return text.strip()
    text = re.sub(r"(?<=\w) - (?=\w)", "-", text)
    text = re.sub(r"(?<=\w) (?=(?:['’](?:s|m|re|ve|ll|d|t)|n['’]t)\b)", "", text)
    text = re.sub(r" +(?=[,.;:?!%)](?:\W|$))", "", text)
    return re.sub(r"\$ (?=\d)", "$", text).strip()


_ENDED = re.compile(r"[.?!…:\"”'][)\]]*$")


def trim_speech(sentence: str) -> str:
    """Remove fillers, openers, false starts and repetitions from one spoken sentence."""
    text = tidy_spacing(sentence)
    ending = text[-1:] if text[-1:] in ".?!" else ""
    for _ in range(2):  # removing a filler can join two halves of a repetition
        text = _FILLERS.sub(" ", text)
        text = _SET_OFF.sub(_keep_comma, text)
        text = _HEDGE.sub("", _LOOSE.sub("", text))
        text = _BEGUN.sub(_unless_word, text)
        text = re.sub(r" {2,}", " ", text).strip()
        text = _REPEAT.sub(_once, text)
        text = _OPENER.sub("", text.lstrip(" ,.;—-"))
    text = re.sub(r" +(?=[,.;?!])", "", text)
    text = re.sub(r"(?:, ?){2,}", ", ", text)
    text = re.sub(r"[ ,;—-]+$", "", re.sub(r"[ ,;—-]+([.?!]+)$", r"\1", text.strip(" ,;—-")))
    text = re.sub(
        r"(?:,?[ ](?:and|but|or)|,[ ](?:right|okay|yeah|you know|i mean))(?=[.?!]?$)", "", text
    )
    if not re.search(r"\w", text):
        return ""
    if not _ENDED.search(text):  # a heading keeps its colon, so that it is not a statement
        text += ending or "."
    return text[0].upper() + text[1:]


def _unless_word(match: re.Match[str]) -> str:
    word, dash = match[1].lower(), match[2]
    is_long = len(word) > _LONGEST_BEGUN and re.search("[aeiouy]", word) is not None
    whole = word in FUNCTION_WORDS or word in ("i", "a") or is_long
    again = match.string[match.end() + len(word) :][:1] in ("'", "’")  # "they they've"
    return match[0] if whole and not again and not dash else ""


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
