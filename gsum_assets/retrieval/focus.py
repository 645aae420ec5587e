"""Documents that a question over a whole corpus is about: those that it names, or all.

The rules are strict, so that ordinary questions are unaffected: a name without a number needs
capitals or quotation marks, unless the question has no capital and the name several words, or it is
all of which a summary is requested ("Summarize the minutes of June"), and a comparison has to
mention documents.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from gsum_assets.corpus.document_names import file_stem
from gsum_resources.text.dates import Date
from gsum_resources.text.periods import period_of
from gsum_resources.text.reading import CONTENTLESS
from gsum_resources.text.vocabulary import FUNCTION_WORDS, content_stems

MOST_DOCUMENTS = 12  # of a comparison; more would leave about one sentence for each

_FEWEST_WORDS = 3  # of a search query
_MOST_INITIALS = 6  # words of a question that an acronym may replace, beyond the name's length
_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
_FILLERS = frozenset(
    ["a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to", "v", "version"]
)
_NOUNS = (
    r"(?:documents?|texts?|files?|papers?|articles?|reports?|stories|tales|books?|chapters?"
    r"|meetings?|transcripts?|licen[cs]es|contracts?|agreements?|policies|laws|treaties|manuals?"
    r"|guides?|letters?|e-?mails?|interviews?|essays?|sources)"
)
_PLURAL = _NOUNS.replace("s?", "s")
_COMPARING = re.compile(
    r"\b(?:compar\w+|contrast\w*|differ|differs|differed|different(?:ly)?|differences?"
    r"|similarit\w+|in common|versus|vs|vergleich\w*|unterscheid\w*)\b",
    re.IGNORECASE,
)
_CHANGING = re.compile(r"\bchang\w+|\bgeändert\b", re.IGNORECASE)
_DOCUMENTS = re.compile(rf"\b(?:\w+ )?{_PLURAL}\b", re.IGNORECASE)
_EACH = re.compile(
    rf"\b(?:across|each(?: one)? of|every one of|all(?: of)?|which(?: of)?|in all)"
    rf"(?: all)?(?: the| these| those)?(?: \w+)? {_PLURAL}\b|\beach {_NOUNS}\b",
    re.IGNORECASE,
)
_OF_ONE = re.compile(
    r"\b(?:summar\w+|recap|overview|outline|gist|zusammen\w*|résum\w+)\b|\babout\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Focus:
    """Documents named by a question, and whether it compares documents.

    Attributes
    ----------
    mentions : ids of the documents that match each name in the question, in the question's order.
    compares : whether the question is on several documents: those named, else all.
    dated : ids of the documents of a period that the question names, and what it calls the period.
    rest : the question without the names, for a search in a named document; the whole question if
        few other words are left.
    whole : the question with "document" for the name, if it requests all of a named document; else
        "".
    """

    mentions: Sequence[Sequence[str]] = ()
    compares: bool = False
    dated: tuple[Sequence[str], str] = ((), "")
    rest: str = ""
    whole: str = ""


@dataclass(frozen=True)
class _Word:
    text: str
    is_marked: bool  # written with a capital inside the sentence, or in quotation marks
    start: int
    end: int


class Titles(dict[str, str]):
    """Titles of documents by id, and dates of some, whose names in questions are found once."""

    def __init__(self, titles: Mapping[str, str], dates: Mapping[str, Date] | None = None) -> None:
        super().__init__(titles)
        self.dates = dates or {}

    @cached_property
    def names(self) -> Mapping[tuple[str, ...], list[str]]:
        """Documents by each form of their names, as tokens.

        Several documents may share a form: sections of one story, or two versions of a licence if
        the question has no version. If a form leaves out fewer words of one name than of another,
        it belongs only to the former: "gpl 3" to "GNU General Public License 3", and not to "GNU
        Lesser General Public License 3".
        """
        least: dict[tuple[str, ...], int] = {}
        owners: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for document_id, title in self.items():
            forms: dict[tuple[str, ...], int] = {}
            number = re.search(r"\d[\d.]*$", document_id)
            numbered = f"{title} {number.group()}" if number else title
            for name in dict.fromkeys((title, document_id, numbered, file_stem(document_id))):
                for form, n_left_out in _forms(name):
                    forms[form] = min(n_left_out, forms.get(form, n_left_out))
            for form, n_left_out in forms.items():
                if n_left_out < least.get(form, n_left_out + 1):
                    least[form] = n_left_out
                    owners[form] = []
                if n_left_out == least[form]:
                    owners[form].append(document_id)
        return {form: ids for form, ids in owners.items() if len(ids) < len(self)}

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest form."""
        return max(map(len, self.names), default=0)


def focus_of(question: str, titles: Mapping[str, str]) -> Focus:
    """Return the documents that `question` names, and whether it compares documents.

    The id of a document, and the name of its file that is in it, count as titles, too.
    """
    known = titles if isinstance(titles, Titles) else Titles(titles)
    named = _mentions(question, known)
    mentions = [ids for *_, ids in named]
    if not mentions and _OF_ONE.search(question):
        wanted = _own_words(question)
        if ids := _only_named(wanted, known.names):
            return Focus([ids], rest=question, whole=_with_document(question, wanted))
    distinct = {document_id for ids in mentions for document_id in ids}
    is_compared = _COMPARING.search(question) or _CHANGING.search(question)
    if len(distinct) < 2 and is_compared and (sides := _sides(question, known)):
        return Focus(sides, compares=True, rest=question)
    compares = len(mentions) > 1 and len(distinct) > 1
    compares |= bool(
        _EACH.search(question) or (_COMPARING.search(question) and _DOCUMENTS.search(question))
    )
    rest = question
    for start, end, _ in reversed(named):
        rest = f"{rest[:start]} {rest[end:]}"
    is_enough = len(_words(rest)) >= _FEWEST_WORDS
    rest = " ".join(rest.split()) if is_enough else question
    return Focus(mentions, compares, _of_period(question, known), rest)


def _of_period(question: str, titles: Titles) -> tuple[Sequence[str], str]:
    """Return the documents of the period that a question names, and its words in lower case.

    Without a date of most documents there are none.
    """
    period = period_of(question)
    if not period or 2 * len(titles.dates) <= len(titles):
        return (), ""
    ids = [i for i, date in titles.dates.items() if period.has(date.isoformat())]
    return ids, period.words.lower()


def _sides(question: str, titles: Titles) -> list[list[str]]:
    """Return the documents for each of several numbers: "the rules of 2019 and 2024".

    They have the number and the most other words of the question in their names.
    """
    tokens = {i: {*_TOKEN.findall(f"{title} {i}".lower())} for i, title in titles.items()}
    asked = [*dict.fromkeys(_TOKEN.findall(question.lower()))]
    numbers = [word for word in asked if word.isdigit()]
    others = {word for word in asked if len(word) > 3 and not word.isdigit()} - FUNCTION_WORDS
    sides = []
    for number in numbers if len(numbers) > 1 else ():
        shared = {i: len(others & of) for i, of in tokens.items() if number in of}
        most = max(shared.values(), default=0)
        sides.append([i for i, n in shared.items() if n == most])
    return sides if all(sides) else []


def _only_named(wanted: frozenset[str], names: Mapping[tuple[str, ...], list[str]]) -> list[str]:
    """Return the documents that have a name of these words."""
    matching = {
        document_id
        for form, ids in names.items()
        if _own_words(" ".join(form)) == wanted and len(wanted) >= min(2, len(form))
        for document_id in ids
    }
    return sorted(matching) if wanted else []


def _own_words(text: str) -> frozenset[str]:
    return frozenset(content_stems(text)) - CONTENTLESS


def _with_document(question: str, name: frozenset[str]) -> str:
    """Return a question with "document" in place of what stands from the first of some words on."""
    found = [m for m in _TOKEN.finditer(question) if _own_words(m[0]) & name]
    return f"{question[: found[0].start()]}document{question[found[-1].end() :]}"


def in_order(mentions: Sequence[Sequence[str]], ranked: Sequence[str]) -> list[str]:
    """Return the mentioned documents: the best of each mention, then the second of each.

    `ranked` has ids of documents, best first; missing ones come last.
    """
    rank = {document_id: i for i, document_id in enumerate(ranked)}
    groups = [sorted(ids, key=lambda i: rank.get(i, len(rank))) for ids in mentions]
    return list(dict.fromkeys(i for row in zip_longest(*groups) for i in row if i is not None))


def spread(passages: Sequence[Sequence[dict]], n: int) -> list[dict]:
    """Return `n` of the passages of each document: the best of each, then the second of each."""
    rounds = zip_longest(*passages)
    return [passage for group in rounds for passage in group if passage is not None][:n]


def _words(text: str) -> list[_Word]:
    """Return words and numbers, without articles and similar words; "GPLv3" is two."""
    text = re.sub(r"(?<=[A-Za-z])v(?=\d)", " ", text)
    quoted = [m.span() for m in re.finditer(r"[\"“‘«]([^\"”’»]+)[\"”’»]", text)]
    words = []
    for match in _TOKEN.finditer(text):
        word, start = match.group(), match.start()
        opens = not re.search(r"\w", re.split(r"[.?!:]\s", text[:start])[-1])
        capital = word[0].isupper() and (not opens or (word.isupper() and len(word) > 1))
        marked = capital or any(first <= start < last for first, last in quoted)
        if word.lower() not in _FILLERS:
            marked |= word[0].isdigit()
            plain = re.sub(r"(?:\.0)+$", "", word.lower())  # 3.0 as 3
            words.append(_Word(plain, marked, start, match.end()))
    return words


def _forms(name: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the forms of a name in questions, and the number of words each leaves out."""
    for text in dict.fromkeys((name, re.split(r"\s[-–—]\s|[:(]", name)[0])):
        tokens = [word.text for word in _words(text)]
        if len(tokens) > 1 and tokens[0].isdigit() and not tokens[1][0].isdigit():
            tokens = tokens[1:]  # a number for the order of files
        n_words = next((i for i, t in enumerate(tokens) if t[0].isdigit()), len(tokens))
        words, rest = tokens[:n_words], tuple(tokens[n_words:])
        heads = [(tuple(words), 0)]
        heads += [((_initials(words[first:]),), first) for first in range(len(words) - 2)]
        for head, n_left_out in heads:
            if any(len(word) > 2 for word in head):
                for n_kept in {0, 1, len(rest)} if rest else {0}:
                    yield (*head, *rest[:n_kept]), n_left_out + len(rest) - n_kept


def _initials(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words)


def _mentions(text: str, titles: Titles) -> list[tuple[int, int, list[str]]]:
    """Return first character, end and documents of each name, of overlapping ones the longest."""
    candidates: list[tuple[int, int, list[str]]] = []
    words = _words(text)
    is_lower = text == text.lower()  # no capital could mark a name
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + titles.longest + _MOST_INITIALS) + 1):
            span = words[start:end]
            forms = _question_forms(span)
            ids = next((titles.names[form] for form in forms if form in titles.names), None)
            is_cut = end < len(words) and words[end].text[0].isdigit()  # the number of another name
            # used as a name, and not just for the words' meaning
            is_name = all(word.is_marked for word in span) or (
                len(span) > 1 and (is_lower or any(word.text[0].isdigit() for word in span))
            )
            if ids and is_name and not is_cut:
                candidates.append((start, end, ids))
    candidates.sort(key=lambda m: (m[0] - m[1], not words[m[1] - 1].text[0].isdigit(), m[0]))
    disjoint: list[tuple[int, int, list[str]]] = []
    for start, end, ids in candidates:
        if all(end <= first or last <= start for first, last, _ in disjoint):
            disjoint.append((start, end, ids))
    disjoint.sort(key=lambda mention: mention[0])
    return [(words[first].start, words[last - 1].end, ids) for first, last, ids in disjoint]


def _question_forms(span: Sequence[_Word]) -> Iterator[tuple[str, ...]]:
    """Yield a span unchanged, and with its words replaced by an acronym."""
    texts = [word.text for word in span]
    yield tuple(texts)
    n_words = next((i for i, text in enumerate(texts) if text[0].isdigit()), len(texts))
    if n_words > 2 and all(word.is_marked for word in span):
        yield (_initials(texts[:n_words]), *texts[n_words:])
