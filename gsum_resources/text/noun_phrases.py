"""Noun phrases without a tagger: the word before a run of content words indicates its class.

After a determiner or a preposition follows a noun phrase; after "to", a modal or a subject pronoun
follows a verb, which is removed so that its object remains.
"""

import re
from dataclasses import dataclass

from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem, word_list, word_set

_TOKEN = re.compile(r"[^\W_]+(?:[-.&/'’][^\W_]+)*|[^\w\s]")
_ADJECTIVE = re.compile(
    r"[a-z]{3}(?:est|able|ible|ful|ous|less|ed)$|^(?:willing|simple|slight|absolute)$"
)
_BEFORE_NOUN = word_list("before_noun")
_BEFORE_VERB = word_list("before_verb")
_DETERMINERS = word_list("determiners")
_VERBS = word_list("verbs")
_NUMBERS = word_set("two three four five six seven eight nine ten to too very more")
_WEAK = word_list("weak_words")


@dataclass(frozen=True)
class NounPhrase:
    """A phrase as written, `core` without its determiner, `start` in characters.

    `evidence` is 1 after a determiner or a preposition, or for a capital inside a sentence, else 0.
    """

    text: str
    core: str
    start: int
    evidence: int

    @property
    def key(self) -> str:
        """Stemmed lower-case form, equal for `the Rubber Cases` and `a rubber case`."""
        return " ".join(stem(w.lower()) for w in re.findall(r"[^\W_]+", self.core))

    @property
    def proper(self) -> bool:
        """Whether every word is capitalized or a number, as names are."""
        return all(w[0].isupper() or w[0].isdigit() for w in self.core.split())


def noun_phrases(sentence: str, max_length: int = 4) -> list[NounPhrase]:
    """Return the noun phrases of a sentence, in order, without those of vague words only."""
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(sentence)]
    phrases, run = [], []
    for index, (token, _) in enumerate([*tokens, (".", len(sentence))]):
        borders = (run[-1], index + 1) if token == "of" and run and index + 1 < len(tokens) else ()
        joins_names = borders and all(tokens[i][0][0].isupper() for i in borders)  # Bank of England
        if joins_names or _is_content(token):
            run.append(index)
            continue
        if run:
            phrases += _phrase(sentence, tokens, run, max_length)
        run = []
    return phrases


def is_weak(word: str) -> bool:
    """Return whether a word says too little to name anything: vague, an adverb, a number."""
    lower = word.lower()
    return (
        lower in _WEAK
        or lower in _BEFORE_NOUN
        or lower in FUNCTION_WORDS
        or bool(re.search(r"[a-z]{2}ly$|[a-z]{3}est$|^\d", lower))
    )


def precedes_noun(word: str) -> bool:
    """Return whether a noun phrase follows this word, as after a determiner or a preposition."""
    return word.lower() in _BEFORE_NOUN


def is_verb_form(word: str) -> bool:
    """Return whether a word is a form of one of the known verbs."""
    lower = word.lower()
    return lower in _VERBS or (lower.endswith("s") and lower[:-1] in _VERBS)


def _is_content(token: str) -> bool:
    lower = token.lower()
    if not token[0].isalnum() or re.search(r"n['’]t$|['’](?:ll|re|ve|d|m)$", lower):
        return False
    lower = re.sub(r"['’]s$", "", lower)
    adverb = lower.endswith("ly") and len(lower) > 4 and not token[0].isupper()
    return lower not in FUNCTION_WORDS and not adverb and (len(lower) > 1 or token.isdigit())


def _is_verb(tokens: list[tuple[str, int]], index: int, inside: bool) -> bool:
    """Return whether a token is a verb: `costs` before a number, `raised` after a noun."""
    word = tokens[index][0].lower()
    if word in _VERBS or (inside and re.search(r"[a-z]{3}ed$", word)):
        return True
    after = tokens[index + 1][0].lower() if index + 1 < len(tokens) else ""
    singular = word.endswith("s") and word[:-1] in _VERBS
    return inside and singular and (after in _DETERMINERS or after in _NUMBERS or after.isdigit())


def _phrase(
    sentence: str, tokens: list[tuple[str, int]], run: list[int], max_length: int
) -> list[NounPhrase]:
    before = tokens[run[0] - 1][0].lower() if run[0] else ""
    named = run[0] > 0 and tokens[run[0]][0][0].isupper()
    if before in _BEFORE_VERB and not named and before not in _DETERMINERS:
        run, before = run[1:], "verb"
    while run and (
        tokens[run[0]][0].lower() in _VERBS
        or (run[0] == 0 and len(run) > 1 and tokens[0][0].lower().endswith("ing"))
    ):
        run, before = run[1:], "verb"
    for position, index in enumerate(run):  # a verb inside ends the phrase
        name_follows = (
            position and tokens[index][0][0].isupper() and not tokens[run[0]][0][0].isupper()
        )
        if name_follows or _is_verb(tokens, index, inside=position > 0):
            run = run[:position]
            break
    while run and re.sub(r"['’]s$", "", tokens[run[-1]][0].lower()) in _VERBS:
        run = run[:-1]
    while run and _ADJECTIVE.search(tokens[run[-1]][0]):  # an adjective without a noun
        run = run[:-1]
    run = run[-max_length:]
    lowered = [tokens[i][0].lower() for i in run]
    if not run or all(w in _WEAK or w.isdigit() for w in lowered):
        return []
    start, last = tokens[run[0]][1], tokens[run[-1]]
    core = re.sub(r"['’]s$", "", sentence[start : last[1] + len(last[0])])
    evidence = int(before in _BEFORE_NOUN or (named and core[0].isupper()))
    article = before if before in ("the", "a", "an") and tokens[run[0] - 1][1] < start else ""
    return [NounPhrase(f"{article} {core}".strip(), core, start, evidence)]
