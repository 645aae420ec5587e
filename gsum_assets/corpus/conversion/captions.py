"""Transcripts of WebVTT, SubRip and SubViewer captions, with speakers and times."""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    decoded_text,
)

UNKNOWN = "Unknown Speaker"
"""Label of speech without a name, where the captions around it have one."""

_TIME = r"((?:\d{1,4}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,9})?)"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_ARROW = re.compile(r"[ \t]*\d.*-->")
_SBV_TIMES = re.compile(rf"{_TIME},{_TIME}$", re.MULTILINE)
_ASIDE = re.compile(r"(?:NOTE|STYLE|REGION)\b")  # in WebVTT, besides captions
_BLANK_LINE = re.compile(r"\n(?:[ \t]*\n)+")
_TAG = re.compile(
    r"<v(?:\.[^\s<>]*)?[ \t]+(?P<name>[^<>\n]+)>|(?P<end></v>)"
    r"|</?(?:c|i|b|u|s|ruby|rt|lang|font)(?:[. \t][^<>\n]*)?>"  # text may have other "<…>"
    r"|<\d[\d:.]*>|\{\\an?\d+\}",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|lrm|rlm|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_LABEL = re.compile(r"(?:>>+\s*|[-–]\s+)?(\[?[^\W_][^\n:?!;\"“”]{0,59}?)[ \t]*:[ \t]+(?=\S)")
_CHANGE = re.compile(r"(?:>>+\s*|[-–]\s+)(?=\S)")  # another speaker, who is not named
_SMALL = frozenset({"of", "the", "and", "de", "van", "von", "der", "la", "le", "du", "da", "di"})
_UNNAMED = re.compile(r"[:?!;\"“”<>]|(?<!\S)[^\w\s(]+")
_MOST_WORDS, _LONGEST_NAME = 6, 47  # of a name
_NAMED_SHARE = 0.9  # of the captions, from which on one without a name has another speaker
_ROLLING_SHARE = 0.3  # of the captions that repeat the last lines of the one before
_PAUSE_MS, _FULL_CHARS, _MOST_CHARS = 2_000, 400, 1_000  # end a line of speech without a name


@dataclass(frozen=True)
class Speech:
    """Words of one speaker in a caption; times in ms, speaker None if it is not named."""

    speaker: str | None
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class _Caption:
    start: int
    end: int
    lines: tuple[str, ...]


def convert_captions(content: bytes, _: Report) -> Converted:
    """Return captions as a transcript, one line "Name: text" per turn, with the captions' times."""
    captions, left_out = _captions(decoded_text(content).strip("\ufeff \t\n"))
    captions = _without_repeats(captions)
    begun = Counter(
        label[1] for c in captions for line in c.lines[:1] if (label := _LABEL.match(line))
    )
    names = frozenset(name for name, n in begun.items() if n > 1)
    speech = [spoken for caption in captions for spoken in _speech_of(caption, names)]
    if not speech:
        raise ConversionError("it has no captions with text; export the transcript again")
    has_tags = any(tag["name"] for c in captions for tag in _TAG.finditer("\n".join(c.lines)))
    transcript = _transcript(_attributed(_labelled_speech(speech), has_tags))
    return replace(transcript, left_out=left_out)


def _captions(text: str) -> tuple[list[_Caption], str]:
    """Return the captions of a file, and what is left out; blank lines do not end a caption."""
    is_vtt, is_sbv = text.startswith("WEBVTT"), _SBV_TIMES.match(text)
    lines = text.replace("[br]", "\n" if is_sbv else "[br]").split("\n")
    begins = [i for i, line in enumerate(lines) if (_SBV_TIMES if is_sbv else _ARROW).match(line)]
    if not begins and not is_vtt:
        raise ConversionError("neither WebVTT nor SubRip captions; export the transcript again")
    captions, notes, untimed = [], [], []
    for begin, end in pairwise([*begins, len(lines)]):
        name = lines[end - 1].strip() if end < len(lines) else ""
        is_apart = end - 1 > begin + 1 and not lines[end - 2].strip()
        last = end - 1 if name and (is_apart or name.isdigit()) else end  # the next one's number
        blocks = _BLANK_LINE.split("\n".join(lines[begin + 1 : last]))
        asides = [block for block in blocks[1:] if is_vtt and _ASIDE.match(block)]
        notes += [block for block in asides if block.startswith("NOTE")]
        shown = "\n".join(block for block in blocks if block not in asides).split("\n")
        spoken = tuple(line for line in shown if line.strip())
        if found := (_SBV_TIMES if is_sbv else _TIMES).match(lines[begin]):
            captions.append(_Caption(_ms(found[1]), _ms(found[2]), spoken))
        else:
            untimed.append(" ".join(spoken))
    return captions, counted(("note", notes), ("caption without a time", untimed))


def _ms(time: str) -> int:
    whole, _, fraction = time.replace(",", ".").partition(".")
    seconds = 0
    for field in whole.split(":"):
        seconds = 60 * seconds + int(field)
    return 1000 * seconds + int(f"{fraction[:3]:0<3}")


def _without_repeats(captions: Sequence[_Caption]) -> list[_Caption]:
    """Return captions without equal ones, and without the lines that scrolling ones show again."""
    once = list(dict.fromkeys(captions))
    repeated = [0, *(_overlap(a.lines, b.lines) for a, b in pairwise(once))]
    if sum(n > 0 for n in repeated) < max(2, _ROLLING_SHARE * len(once)):
        return once
    return [replace(c, lines=c.lines[n:]) for c, n in zip(once, repeated, strict=True)]


def _overlap(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many first lines of `after` are the last ones of `before`."""
    plain_before, plain_after = ([_plain(line) for line in lines] for lines in (before, after))
    most = min(len(before), len(after))
    return next((n for n in range(most, 0, -1) if plain_before[-n:] == plain_after[:n]), 0)


def _plain(text: str) -> str:
    """Return text without tags and entities, on one line."""
    untagged = _TAG.sub("", text)
    return " ".join(_ENTITY.sub(lambda entity: html.unescape(entity[0]), untagged).split())


def _speech_of(caption: _Caption, known: Collection[str]) -> Iterator[Speech]:
    """Yield the words of each speaker: of voice tags, or of lines that begin with a name."""
    text = "\n".join(caption.lines)
    tags = [tag for tag in _TAG.finditer(text) if tag["name"] or tag["end"]]
    bounds = [0, *(tag.start() for tag in tags), len(text)]
    names = [None, *(_name(tag["name"]) if tag["name"] else None for tag in tags)]
    for name, start, end in zip(names, bounds, bounds[1:], strict=False):
        if name is None:
            for speaker, words in _labelled(text[start:end].split("\n"), known):
                yield Speech(speaker, words, caption.start, caption.end)
        elif words := _plain(text[start:end]).removeprefix(f"{name}: "):
            yield Speech(name, words, caption.start, caption.end)


def _name(tagged: str) -> str | None:
    words = [
        word if word in _SMALL or not word.islower() else word[0].upper() + word[1:]
        for word in _UNNAMED.sub(" ", _plain(tagged).replace("&", " and ")).split()
    ]
    if words and not words[0][0].isalpha():  # a telephone number
        words = ["Caller", *(word.lstrip("(") for word in words)]
    return " ".join(words).rstrip(" .,-(]") or None


def _labelled_speech(speech: Sequence[Speech]) -> list[Speech]:
    """Return speech with names as distinct labels that `speaker_labels` recognizes."""
    names = dict.fromkeys(s.speaker for s in speech if s.speaker)
    n_offices = Counter(name.partition(" (")[0] for name in names if " (" in name)
    label_of: dict[str | None, str] = {}
    whole: dict[str, str] = {}  # name of each label
    for name in names:
        bare, _, office = name.partition(" (")
        if n_offices[bare] > 1 and office:
            bare, office = f"{bare}, {_name(office.rstrip(')'))}", ""
        words, n = bare.split(), 1
        label = " ".join(words[:_MOST_WORDS])[:_LONGEST_NAME].rstrip(" .,-(]")
        while whole.setdefault(label, bare) != bare:
            n += 1
            label = f"{' '.join(words[: _MOST_WORDS - 1])[: _LONGEST_NAME - 3]} {n}"
        label_of[name] = f"{label} ({office}" if office.endswith(")") else label
    return [replace(s, speaker=label_of.get(s.speaker, s.speaker)) for s in speech]


def _labelled(lines: Sequence[str], names: Collection[str]) -> list[tuple[str | None, str]]:
    """Return speaker ("": another one, unnamed) and words of lines; others continue one."""
    pairs: list[tuple[str | None, str]] = []
    for line in filter(None, map(_plain, lines)):
        label = _LABEL.match(line)
        if label and (label[1] in names or _is_name(label[1])):
            pairs.append((_name(label[1]), line[label.end() :]))
        elif change := _CHANGE.match(line):
            pairs.append(("", line[change.end() :]))
        elif pairs:
            pairs[-1] = pairs[-1][0], f"{pairs[-1][1]} {line}"
        else:
            pairs.append((None, line))
    return pairs


def _is_name(label: str) -> bool:
    words = label.split()
    begins = all(w[0].upper() == w[0] or w != w.lower() or w in _SMALL for w in words)
    is_sentence = label.endswith((".", ",")) and len(words[-1]) > len("Jr.")
    has_letter = any(character.isalpha() for character in label)
    return len(words) <= _MOST_WORDS and begins and has_letter and not is_sentence


def _attributed(speech: Sequence[Speech], has_tags: bool) -> list[Speech]:
    """Return speech with a speaker: "" where nobody is named, `UNKNOWN` beside named ones."""
    named = sum(bool(spoken.speaker) for spoken in speech)
    if not named:
        return [replace(spoken, speaker="") for spoken in speech]
    continues = not has_tags and named < _NAMED_SHARE * len(speech)
    speaker, attributed = UNKNOWN, []
    for spoken in speech:
        if spoken.speaker is not None or not continues:
            speaker = spoken.speaker or UNKNOWN
        attributed.append(replace(spoken, speaker=speaker))
    return attributed


def _transcript(speech: Sequence[Speech]) -> Converted:
    """Return one line per turn, and the times at which captions begin in it."""
    text, starts, labels = "", [], []
    before: Speech | None = None
    line_start = 0
    for spoken in speech:
        joins = before is not None and _continues(before, spoken, len(text) - line_start)
        label = f"{spoken.speaker}: " if spoken.speaker else ""
        addition = f" {spoken.text}" if joins else f"{label}{spoken.text}"
        text += "" if joins or not text else "\n"
        line_start = line_start if joins else len(text)
        minutes, seconds = divmod(spoken.start // 1000, 60)
        hours, minutes = divmod(minutes, 60)
        time = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"
        if not labels or labels[-1] != time:
            starts.append(len(text) + joins)
            labels.append(time)
        text += addition
        before = spoken
    return Converted("", text, tuple(starts), tuple(labels))


def _continues(before: Speech, after: Speech, length: int) -> bool:
    """Return whether speech is on the line of the one before it, which has `length` characters."""
    if before.speaker != after.speaker or after.speaker:
        return before.speaker == after.speaker
    is_whole = before.text.endswith((".", "?", "!", "…", "。", "？", "！"))
    is_full = length >= (_FULL_CHARS if is_whole else _MOST_CHARS)
    return not is_full and after.start - before.end < _PAUSE_MS
