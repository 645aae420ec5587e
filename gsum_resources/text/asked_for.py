"""What a question asks for, such as a sum of money or a wish, and whether a sentence states it."""

import re
from typing import NamedTuple

from gsum_resources.text.dates import MONTHS

_MONTHS = "|".join(name for name in MONTHS if len(name) > 3)
_IN = "".join(
    rf"(?<!\b{word} )" for word in ("in", "of", "since", *_MONTHS.split("|"), "may", "mai")
)
_TIME = (
    r"\b\d{1,2}(?:[.:]\d\d\b|(?:st|nd|rd|th)\b|\. [A-Z]| ?[ap]\.?m\b| ?o'clock| ?Uhr| ?h\b)"
    r"|\b(?:(?:1[5-9]|20)\d\d|daily|weekly|monthly|yearly|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|today|tonight|yesterday|tomorrow|spring|summer|autumn|winter|(?:mon|diens|donners|frei|sams"
    r"|sonn)tags?|mittwochs?|heute|gestern|morgen|frühling|herbst"
    rf"|{_MONTHS})\b|月|年|日"
)
_COUNTED = (
    rf"\d|{_TIME}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four"
    r"|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty\S*|hundreds?"
    r"|thousands?|millions?|dozens?|half|twice|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn"
    r"|hundert|tausend|deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|mille)\b|[一二三四五六七八九十百千万]"
)


NOW = re.compile(
    r"\b(?:latest|newest|most recent|recent(?:ly)?|current(?:ly)?|now(?:adays)?|today|at present"
    r"|these days|inzwischen|zurzeit"
    r"|the last(?! (?:day|week|month|year|time|\d))|neueste[nrs]?|aktuelle?[nrs]?|jetzt|derzeit"
    r"|zuletzt|letzte[nrs]?|derni[eè]re?|actuel\w*)\b",
    re.IGNORECASE,
)
"""What asks for the newest of several statements."""


class _Form(NamedTuple):
    asks: str
    has: str
    weight: float  # of a sentence without it
    is_needed: bool = False  # whether nothing else answers the question
    may_be_vague: bool = False  # whether "all morning" answers it, too
    refers: bool = False  # whether the sentences before one that has it say what it is about


_FORMS = (
    _Form(
        r"\bhow much (?:money|do(?:es)?|did|is|are|was|were|has|have|will|would)\b"
        r"|\b(?:costs?|price|fee|salary|rent)\b|\bkost(?:et|en|ete)\b|\bcoût\w*",
        r"[£$€¥]|\b(?:pounds?|dollars?|euros?|cents?|pence|francs?|yen|crowns?|pfund|livres?|free"
        r"|kostenlos|gratis|gratuit\w*|nothing)\b"
        rf"|(?<![\d-])(?:(?!(?:1[5-9]|20)\d\d\b)|{_IN})\d{{2,}}"
        rf"(?![\d-]|(?:th|\.)? (?:{_MONTHS}|may|mai))",
        0.6,
        is_needed=True,
    ),
    _Form(
        r"\b(?:e-?mail address|phone number|telephone number|telefonnummer|mailadresse)\b",
        r"\w@\w|(?<![\d.-])(?!\d{4}-\d\d-)\+?\d[\d /()-]{4,}\d\b(?!-)",
        0.6,
        is_needed=True,
    ),
    _Form(
        r"\bhow old\b|\bwie alt\b|\bborn\b|\bgeboren\b",
        r"\b(?:years?|months?|old|aged?|born|birth\w*|built|opened|founded|dates? from|since|jahre?"
        r"|alt|geboren|geburt\w*|gebaut|erbaut|eröffnet|gegründet|seit|1[5-9]\d\d)\b",
        0.6,
        is_needed=True,
    ),
    _Form(
        r"\b(?:which|what|welchem?) (?:year|jahr)\b", r"\b(?:1[5-9]|20)\d\d\b", 0.6, is_needed=True
    ),
    _Form(
        r"^\W*(?:(?:on|at|in|since|until) )?(?:when|what (?:date|day|time))\b"
        r"|^\W*(?:(?:ab|bis|seit) )?(?:wann|quand)\b",
        _TIME,
        0.6,
        is_needed=True,
        may_be_vague=True,
    ),
    _Form(
        r"\bhow (?:many|much|long|far|often|big|large|tall|high|wide|deep|fast)\b"
        r"|^\W*(?:wie ?viele?|wie (?:lange|oft|hoch|weit|groß)|combien)\b",
        _COUNTED,
        0.6,
        is_needed=True,
        may_be_vague=True,
    ),
    _Form(
        r"\bstands? for\b|\b(?:short|abbreviation) (?:for|of)\b|\b(?:steht|kurz) .*\bfür\b",
        r"\(\S+\)|\b(?:stands? for|short for|means|abbreviat\w+|steht für|kurz für|heißt)\b",
        0.6,
    ),
    _Form(
        r"\b(?:attend\w*|present(?= at| on| in|\W*$)|took part|participat\w+|anwesend|teilgenommen"
        r"|présente?s?)\b",
        r"\b(?:present|attend\w*|attendance|participants?|apologies|absent|anwesend|teilnehm\w+"
        r"|entschuldigt|présente?s?|excusée?s?)\b",
        0.5,
    ),
    _Form(
        r"\b(?:want(?:s|ed)?|wish(?:es|ed)?|ask(?:s|ed)? for|demand(?:s|ed)?|request(?:s|ed)?"
        r"|fordert?e?|wünscht?e?)\b(?!.*\bhow (?:many|much)\b)",
        r"\b(?:want|wish|ask|demand|would (?:like|rather)|should|must|need|please|let us|let's"
        r"|i'd like|propose|move that|no|stop|fordern?|wünsche|möchte|soll(?:te)?n?)\b",
        0.75,
    ),
    _Form(
        r"\b(?:against|refus\w+|reject\w+|oppos\w+|(?:da)?gegen|contre)\b",
        r"\b(?:against|refus\w+|reject\w+|oppos\w+|(?:da)?gegen|abgelehnt|contre)\b",
        0.6,
        refers=True,
    ),
    _Form(
        r"\b(?:not|never|no|absent|nicht|keine?r?|pas)\b|n['’]t\b",
        r"\b(?:not|no|none|never|nobody|against|refus\w+|reject\w+|abs(?:tain|ent)\w*|oppos\w+"
        r"|lacks?|missing|apologies|except|unless|put off|postponed|nicht|nein|kein\w*|(?:da)?gegen"
        r"|enthielt\w*|abgelehnt|entschuldigt|pas|contre|aucun\w*)\b|n['’]t\b",
        0.6,
        refers=True,
    ),
)


VAGUE = re.compile(
    r"\b(?:noon|midnight|mornings?|afternoons?|evenings?|nights?|minutes?|hours?|days?|weeks?|months?"
    r"|years?|always|never|every|once|immediately|soon|later|after|before|until|while|during|few"
    r"|several|many|none|nobody|all|both|most|morgens|mittags?|abends|nachts|stunden?|tage?n?"
    r"|wochen?|monate?n?|jahre?n?|immer|nie|jede[nrsm]?|sofort|bald|nach|vor|bis|einige|alle|beide"
    r"|midi|minuit|matin|soir|heures?|jours?|semaines?|mois|ans?|toujours|jamais|chaque|tous)\b",
    re.IGNORECASE,
)
"""A number or time without a figure."""


class Asked(NamedTuple):
    """What a question asks for.

    Attributes
    ----------
    has : what a sentence has that states it.
    weight : of a sentence that does not.
    is_needed : whether nothing else answers the question.
    may_be_vague : whether a time or number without a figure answers it, too.
    refers : whether sentences before may say what one is about: "Two voted against".
    others : the question without the words that ask for it.
    """

    has: re.Pattern[str]
    weight: float
    is_needed: bool
    may_be_vague: bool
    refers: bool
    others: str


_WHO = re.compile(r"\W*(?:who|whom|whose|which|why|where|wer|wem|warum|wo|qui|pourquoi|où)\b", re.I)
_COMPILED = [(re.compile(f.asks, re.I), re.compile(f.has, re.I), f) for f in _FORMS]


def _asks_who(question: str, form: _Form) -> bool:
    """Return whether a question that has the word "price" asks for a person, place or reason."""
    return form is _FORMS[0] and _WHO.match(question) is not None


def asked_for(question: str) -> list[Asked]:
    """Return what a question asks for: money, a year, a number or date, a wish, what was not."""
    found = []
    for asks, has, form in _COMPILED:
        is_second = form.is_needed and any(one.is_needed for one in found)
        if asks.search(question) and not is_second and not _asks_who(question, form):
            others = NOW.sub(" ", asks.sub(" ", question))
            found.append(Asked(has, *form[2:], others))
    return found
