"""Questions that no longer name what they are about.

ODSum's questions mostly quote their story's title, which stands at the opening of its first
section: a search for it finds that section at once. Without the title a question says what happens
in the story, and that is harder to find.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gsum_assets.corpus.queries import Query
from gsum_resources.scoring.unigram import STOP_WORDS

OPENING = 300  # characters of a section that may hold a title
LONGEST = 9  # words of a title
SHARE = 0.6  # of a story's questions that name it at least

_WORD = re.compile(r"[^\W_]+")
_Run = tuple[str, ...]


def without_titles(queries: Sequence[Query], texts: Mapping[str, str]) -> list[str]:
    """Return the search texts of questions without the title they are about.

    Questions about the same documents are taken together. What they name is the longest run of
    words, in any case, which most of them share with the opening of one of these documents; of runs
    as long, the most frequent one.

    Parameters
    ----------
    texts : of the relevant documents, by id.
    """
    groups: dict[_Run, list[str]] = defaultdict(list)
    for query in queries:
        groups[tuple(query.relevant_document_ids)].append(query.retrieval_text)
    titles = {ids: _title(group, [texts[i] for i in ids]) for ids, group in groups.items()}
    return [
        _without(query.retrieval_text, titles[tuple(query.relevant_document_ids)])
        for query in queries
    ]


def n_content_words(text: str) -> int:
    """Words that are no stop words: what is left to search for."""
    return sum(word not in STOP_WORDS for word in _WORD.findall(text.lower()))


def _title(questions: Sequence[str], sections: Sequence[str]) -> _Run:
    """The longest run of words that questions share with an opening; empty without one."""
    opened = {run for text in sections for run in _runs(text[:OPENING])}
    shared = Counter(run for text in questions for run in set(_runs(text)) & opened)
    least = max(2, SHARE * len(questions))
    named = [run for run, n in shared.items() if n >= least and not STOP_WORDS.issuperset(run)]
    return max(named, key=lambda run: (len(run), shared[run], run), default=())


def _runs(text: str) -> Iterator[_Run]:
    """Every run of at most `LONGEST` words, in lower case."""
    words = _WORD.findall(text.lower())
    for first in range(len(words)):
        for end in range(first + 1, min(first + LONGEST, len(words)) + 1):
            yield tuple(words[first:end])


def _without(text: str, title: _Run) -> str:
    """A text with every occurrence of a title left out."""
    if not title:
        return text
    pattern = r"[\W_]+".join(map(re.escape, title))
    return re.sub(rf"(?<![^\W_]){pattern}(?![^\W_])", " ", text, flags=re.IGNORECASE)
