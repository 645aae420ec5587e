"""Which kind of answer a question requests, by its words: the first rule that matches decides.

The rules are for English, and for German and French where a few words suffice.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gsum_resources.text.reading import asks_further, is_fact, without_brackets

QuestionKind = Literal["yes_no", "comparison", "themes", "chronology", "list", "fact", "account"]


@dataclass(frozen=True)
class KindRule:
    """A rule: a question that begins with one of the forms, in any case, is of this kind.

    `shown` is what the rule looks for, as `gsum ask --explain` says it. `is_single`: it holds only
    if nothing further is requested ("and why?").
    """

    kind: QuestionKind
    shown: str
    forms: tuple[str, ...]
    is_single: bool = False

    def matches(self, question: str) -> bool:
        """Return whether a question is of this kind."""
        match = re.match("|".join(self.forms), question, re.IGNORECASE)
        return match is not None and not (self.is_single and asks_further(question[match.end() :]))


_POLITE = re.compile(
    r"(?:please|(?:can|could|would|will) you(?: please)?|(?:do|did) you know|(?:tell|show|give) me"
    r"|i would like to know|kannst du|können sie|bitte|pouvez-vous)\b[\s,:]*",
    re.IGNORECASE,
)
_SINGULAR = r"(?:is|was|does|has)"
_WITH_PLURAL = r"(?:are|were|do|did|have|had|can|could|will|would|shall|should|may|might|must)"
_PLURAL = r"(?:(?!\w*(?:ss|us|is|ews)\b)[\w-]{2,}s|people|men|women|children)"
_SOME = rf"(?:(?!(?:{_SINGULAR}|{_WITH_PLURAL})\b)[\w-]+ ){{0,3}}?"
_FACTS = (
    r"(?:names?|date|day|year|time|price|cost|budget|amount|number|size|height|length|weight|age"
    r"|capital|title|address|deadline|population|colou?r)"
)

RULES = (
    KindRule(
        "yes_no",
        'begins with a verb ("Did …", "Hat …", "Est-ce que …"), without "or"',
        tuple(
            rf"{begins}(?!.*\b(?:or(?! not\b)|oder|ou)\b)"
            for begins in (
                rf"(?:is|does|has|{_WITH_PLURAL})(?:n['’]t)?\b",
                r"was(?:n['’]t)? (?!(?:ist|sind|war|hat|geschah|passiert|muss|soll|kann|darf)\b"
                r"|.*\b(?:der|die|das|dem|des|eine?[nmrs]?|es|er|sie|ich|wir|sich|zum|zur|im|beim|und"
                r"|mit|für|nicht)\b)",
                r"(?:ist|sind|war|waren|hat|haben|hatten?|wird|werden|wurden?|kann|können|soll"
                r"|sollen|muss|darf|gibt es|gab es)\b",
                r"est-ce qu",
                r"(?:est|sont|était|a|ont|avait|peut|y a|y avait)(?:-t)?-(?:ce|ils?|elles?|on)\b",
            )
        ),
    ),
    KindRule(
        "comparison",
        'compares ("differ", "in common", "versus", "Unterschied", "comparer")',
        (
            r".*\b(?:compar(?:e|es|ed|ing|isons?)|contrast(?:s|ed)?|versus|vs|in common)\b",
            r".*\b(?:differ|differs|differed|differences?|different(?:ly)? (?:from|to|than))\b",
            r".*\bsimilarit(?:y|ies)\b",
            r".*\b(?:vergleich|unterschied|unterscheide|gemeinsam|zwischen .* geändert)",
            r".*\b(?:comparer|comparez|comparaison|différences?|points communs)\b",
        ),
    ),
    KindRule(
        "themes",
        'names themes, views or all that was said ("topics", "said about", "Themen")',
        (
            r".*\b(?:themes?|topics?|motifs|subjects|issues|concerns|pros and cons|overview)\b",
            r".*\b(?:views|viewpoints|opinions|attitudes|perspectives|positions|main points)\b",
            r"(?:what|summari[sz]e).* (?:said (?:about|on)|(?:documents|texts) say)\b",
            r"who \w+ what\b",
            r".*\b(?:themen|ansichten|meinungen|thèmes|sujets)\b",
        ),
    ),
    KindRule(
        "chronology",
        'requests a summary or what happened ("Summarize", "What happened", "Fasse zusammen")',
        (
            r"summari[sz]e|recap|retell|(?:(?:a|the) )?(?:brief |short )?summary\b",
            r"what (?:has |have )?happen(?:s|ed)?\b|in what order\b",
            r"(?:describe|tell|what is) the (?:plot|story|history|course)\b",
            r"how did .*\b(?:develop|evolve|change|unfold|come about)\b|.*\b(?:timeline|chronolog)",
            r"fass\w* .*zusammen|was (?:geschah|passiert)|erzähl",
            r"résume|que s['’]est-il passé|racont",
        ),
    ),
    KindRule(
        "list",
        'asks for several ("Which repairs were", "What are the reasons", "List", "Who attended")',
        (
            r"(?:list|name(?! of)|enumerate)\b",
            rf"(?:which|what) {_SOME}{_PLURAL} (?:(?:\w+ )?{_WITH_PLURAL}|\w+ed)\b",
            rf"(?:which|what) (?!{_SINGULAR}){_PLURAL} (?!{_SINGULAR}\b)\w*[^\Ws]\b",
            r"(?:what|which|who) (?:are|were) (?:the|all|some)\b|who were\b",
            r"who (?:attended|participated|took part|(?:was|were) present)\b",
            r"welche \w+(?:en|e|er|s) (?:wurden|sind|waren|gibt|gab|haben|hatten)\b|nenne\b",
            r"wer (?:sind|waren)\b",
            r"(?:quels|quelles|qui) sont\b|(?:quels|quelles) \w+s\b",
        ),
    ),
    KindRule(
        "fact",
        'asks for one thing ("Who", "When", "How many", "Which", "Wer", "Combien")',
        (
            r"(?:(?:in|on|at|by|from|to|for|with|of|since|until) )?"
            r"(?:who|whom|whose|when|where|which)\b",
            r"how (?:many|much|long|old|far|often|big|large|tall|high|wide|deep|fast)\b",
            rf"(?:in |on |at )?what (?:(?:is|was) (?:the|its|his|her|their) (?:\w+ )?)?{_FACTS}\b",
            r"(?:wer|wem|wen|wessen|wann|wo|woher|wohin|welche[rsnm]?)\b",
            r"wie (?:viele?|lange|alt|oft|hoch|weit|groß|heißt)\b",
            r"(?:qui|quand|où|combien|quel(?:le)?s?)\b|comment s['’]appel",
        ),
        is_single=True,
    ),
)
"""In the order in which they are tried."""

OTHERWISE = KindRule("account", "matches no rule", ())

_LONGEST_FACT = 40  # words of an answer: one or two sentences


def rule_of(question: str) -> KindRule:
    """Return the first rule that matches a question, else `OTHERWISE`.

    "Could you tell me" and the like, and words in brackets at the end, are not considered.
    """
    text = without_politeness(without_brackets(question))
    return next((rule for rule in RULES if rule.matches(text)), OTHERWISE)


def without_politeness(question: str) -> str:
    """Return a question without "Could you tell me" and the like before it."""
    text = question.strip()
    while polite := _POLITE.match(text):
        text = text[polite.end() :]
    return text


def is_settled_by_one(question: str) -> bool:
    """Return whether one statement answers a question: one for a fact, and for yes or no."""
    return rule_of(question).kind in ("fact", "yes_no")


def words_of_answer(question: str, max_words: int, is_brief: bool = False) -> int:
    """Return the length of an answer, in words: that of a single fact is short.

    `is_brief`: `is_settled_by_one` decides, else `is_fact`, as for stored answers.
    """
    is_short = is_settled_by_one(question) if is_brief else is_fact(question)
    return min(max_words, _LONGEST_FACT) if is_short else max_words
