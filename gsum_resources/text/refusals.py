"""Replies that say that the documents do not answer a question.

A prompt asks a model to begin such a reply with `UNANSWERED`; this is recognized in any language.
Models also say it in words of their own. Such a reply is recognized in nine languages if each of
its clauses says it, is an apology or an offer, or says what the documents are about instead. A
reply that says anything else is an answer, and so is one about a certain document or person ("The
letter does not mention a price.").
"""

import re

from gsum_resources.text.sentences import split_sentences
from gsum_resources.text.vocabulary import n_words

UNANSWERED = "UNANSWERED"
"""What a reply is requested to begin with."""
_MARK = re.compile(rf"\W*{UNANSWERED}\b\W*", re.IGNORECASE)
_LONGEST = 80  # words of a reply that is recognized by its words
_CLAUSES = re.compile(
    r";\s+|,\s+(?:but|so|and|however|though|aber|sondern|mais|pero|però|ma|mas|maar)\s+"
    r"|[，；](?=但|因此|所以)|が、"
)

_OF = r"(?:\w+ ){0,2}"  # words between
_SOURCES = (
    r"(?:documents?|passages?|texts?|excerpts?|sources?|materials?|context|information|content"
    r"|records?|transcripts?|articles?|snippets?)"
)
_THE = rf"(?:the |these |those |this |any of the |your )?{_OF}{_SOURCES}(?: (?:that )?{_OF}\w+ed)?"
_SAY = (
    r"(?:sa(?:y|ys|id)|mentions?|states?|specif(?:y|ies)|answers?|indicates?|tells?|reveals?"
    r"|discuss(?:es)?|explains?|describes?|identif(?:y|ies)|address(?:es)?|disclose|make clear)"
)
_SOME = r"(?:any |an? |the |enough |sufficient |specific |explicit |direct |relevant |further )*"
_KNOWLEDGE = r"(?:information|answers?|details?|mention|references?|data|explanation|indication)"
_SAID = (
    r"(?:mentioned|stated|specified|said|given|provided|indicated|described|discussed|answered"
    r"|found|included|contained|explained|available|addressed|known|clear|named)"
)
_FR_NOUN = r"(?:documents?|passages?|textes?|extraits?|sources?|contexte)"
_FR_SAY = r"(?:dis|dit|mention|précis|indiqu|contien|fourni|donn|permet|répond|spécifi|expliqu)"
_ES_NOUN = r"(?:documentos?|pasajes?|textos?|fragmentos?|fuentes?|extractos?|contexto)"
_ES = rf"(?:los|estos|el|este) (?:\w+ )?{_ES_NOUN}"
_IT_NOUN = r"(?:document[io]|brani|brano|passaggi|test[io]|estratti|contesto)"
_IT = rf"(?:i|questi|il|questo) (?:\w+ )?{_IT_NOUN}"
_PT_NOUN = r"(?:documentos?|trechos?|textos?|passagens|fontes|excertos|contexto)"
_PT = rf"(?:os|estes|as|o|este) (?:\w+ )?{_PT_NOUN}"
_REFUSES = {
    "en": [
        rf"(?:{_THE}|they|it) (?:do|does|did)(?: not|n['’]t) {_OF}{_SAY}\b",
        rf"(?:{_THE}|they|it) (?:do|does|did)(?: not|n['’]t) {_OF}(?:contain|include|provide|give"
        rf"|offer|have) {_SOME}{_KNOWLEDGE}\b",
        rf"(?:{_THE}) (?:contains?|provides?|gives?|has|have|offers?) no {_SOME}{_KNOWLEDGE}\b",
        rf"(?:none|neither|nothing)(?: of| in) {_THE} {_OF}(?:{_SAY}|provides?|contains?)\b",
        rf"there (?:is|are|was) (?:no|not enough|insufficient|nothing) {_SOME}"
        rf"(?:(?:{_KNOWLEDGE})\b(?!.* in (?!{_THE}\b))|in {_THE}\b)",
        rf".*\b(?:is|are|was|were)(?: not|n['’]t) {_OF}{_SAID} {_OF}(?:in|by|from|within) {_THE}\b",
        rf"(?:this|that|it|the answer|the question|(?:such |this )?information)(?: about .*)?"
        rf" (?:is|was|could|can)(?:not| not|n['’]t) (?:be )?{_OF}{_SAID}$",
        r"(?:this|that|the|your) question (?:can ?not|can['’]t|could not) be answered\b",
        rf"(?:it is |it's )?(?:impossible|not possible|unclear) .*\b(?:from|in|based on) {_THE}\b",
        rf"(?:based on {_THE},? )?(?:i|we) (?:can ?not|can['’]t|could not|couldn['’]t|am unable to"
        rf"|was unable to|do not have|don['’]t have) .*\b(?:{_SOURCES}|question|answer)\b",
        r"(?:not (?:mentioned|stated|specified|given|provided|known|available|answered|enough"
        r" information.*)|unknown|insufficient information.*|no (?:answer|information)\b.*)$",
    ],
    "de": [
        r"(?=.*\b(?:dokument\w*|unterlagen|text\w*|passagen?|abschnitte?n?|auszüg\w*|quellen"
        r"|kontext|material\w*)\b)(?=.*\b(?:nicht|nichts|keine?[nrms]?)\b)"
        r"(?!.*(?:, dass| dass) .*\bnicht\b)(?=.*\b(?:sag\w*|steh\w*|nenn\w*|genannt|erwähn\w*"
        r"|enthalten|enthält|angab\w*|angegeben|hervor|beantwort\w*|geben|gibt|informationen"
        r"|auskunft|finde\w*|entnehmen|äußern)\b)",
        r"(?:diese|die|ihre) frage (?:kann|lässt sich) .*nicht beantwort",
        r"(?:das |dies )?(?:wird |ist |geht )?nicht (?:erwähnt|angegeben|genannt|bekannt|hervor)$",
    ],
    "fr": [
        rf"(?:les|ces|le|ce|aucun(?:e)?(?: des)?) (?:\w+ )?{_FR_NOUN} (?:\w+ ){{0,3}}?ne (?:\w+ )?"
        rf"{_FR_SAY}",
        rf"(?:l['’]information|la réponse|cela|ce|il|elle)\b.* (?:n['’]est|n['’]y a|ne figure)"
        rf" (?:pas|aucune?) .*{_FR_NOUN}",
        r"(?:je ne (?:peux|trouve)|il est impossible|impossible) .*(?:réponse|répondre|question)",
    ],
    "es": [
        rf"(?:{_ES} no|ning(?:ún|uno de los) {_ES_NOUN}) (?:\w+ ){{0,2}}?(?:dice|menc|contien"
        r"|indica|especific|proporcion|respond|ofrec|aclara|dan |inclu|señal|explic)",
        rf"no (?:se|está|es|figura) .*(?:en|por) {_ES}\b",
        r"no (?:hay|tengo|dispongo de|puedo) .*(?:información|respuesta|responder)",
    ],
    "it": [
        rf"(?:{_IT} non|nessun(?:o dei)? {_IT_NOUN}) (?:\w+ ){{0,2}}?(?:dic|menzion|conten|indica"
        r"|specific|forni|rispond|offr|spiega|cita|riporta|precis)",
        rf"(?:l['’]informazione |la risposta )?non (?:è|viene|sono|si) .*(?:nei|dai|nel|dal) "
        rf"(?:\w+ )?{_IT_NOUN}\b",
        r"non (?:ci sono|è possibile|posso|ho) .*(?:informazioni|rispondere|risposta)",
    ],
    "nl": [
        r"(?=.*\b(?:documenten|document|passages|teksten|tekst|fragmenten|bronnen|context)\b)"
        r"(?=.*\b(?:niet|niets|geen)\b)(?=.*\b(?:zeggen|zegt|vermeld\w*|bevat\w*|noem\w*|genoemd|geven"
        r"|geeft|staat|beantwoord\w*|blijkt|informatie|vinden)\b)(?!.*\bdat \w+ .*\bniet\b)",
        r"(?:deze|de) vraag kan .*niet .*beantwoord",
    ],
    "pt": [
        rf"(?:{_PT} não|nenhum(?:a? d[oa]s)? {_PT_NOUN}) (?:\w+ ){{0,2}}?(?:diz|mencion|cont|indica"
        r"|especific|fornec|respond|oferec|explica|inclu|esclarec|informa)",
        rf"(?:isso |a informação |a resposta )?não (?:é|está|foi|consta) .*(?:nos|no|pelos|pelo) "
        rf"(?:\w+ )?{_PT_NOUN}\b",
        r"não (?:há|tenho|é possível|posso) .*(?:informaç|responder|resposta)",
    ],
    "zh": [
        r".*(?:文档|文件|资料|文章|文中|文本|段落|材料|上下文|原文|片段|內容|内容).*(?:没有|未|并未|無|无法|不)"
        r".*(?:提|说|包含|回答|说明|指出|涉及|给出|记载|信息|答案|确定|得知)",
        r".*(?:没有|无)(?:相关|足够)的?(?:信息|答案)|.*无法(?:根据|从|回答)",
    ],
    "ja": [
        r".*(?:文書|文章|資料|本文|パッセージ|テキスト|文中|抜粋|文脈|ドキュメント).*(?:記載|言及|情報|述べ"
        r"|書かれ|答え|回答|示さ|触れ|含まれ|説明|わかり|分かり).*(?:ありません|いません|ない|できません|ません)",
        r".*(?:情報|記載|言及)[はがも]?(?:見つかり|あり|述べられてい)?.*ません",
    ],
}
_BESIDES = [
    r"(?:i['’]m |i am )?(?:very )?(?:sorry|unfortunately|afraid)\b(?:[^,.]{0,20})?$",
    r"(?:please|if you|let me know|feel free|would you like|you (?:may|might|could))\b",
    rf"(?:{_THE}|they|it) (?:only|mainly|mostly|instead|primarily|just)\b",
    rf"(?:{_THE}|they|it) (?:focus(?:es)?|deals?|(?:are|is) about|concerns?)\b",
    r"(?:es tut mir leid|leider|tut mir leid|je suis désolée?|désolée?|lo siento|mi dispiace"
    r"|sinto muito|het spijt me|helaas|désolé)$|(?:bitte|veuillez|por favor|per favore)\b",
    r"(?:sie|diese) (?:handeln|befassen sich|beschreiben) (?:nur|lediglich)?",
    r"(?:很?抱歉|对不起|申し訳(?:ありません|ございません))",
]
_OPENING = re.compile(
    r"(?:(?:i['’]m |i am )?(?:sorry|afraid)(?:, but| that|,)?|unfortunately,?|however,?|therefore,?"
    r"|leider|désolée?, (?:mais )?|lo siento, (?:pero )?|mi dispiace, (?:ma )?|很?抱歉，)\s*",
    re.IGNORECASE,
)


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_REFUSAL = _any_of([pattern for of_language in _REFUSES.values() for pattern in of_language])
_BESIDE = _any_of(_BESIDES)


def refusal_in(reply: str) -> str | None:
    """Return what a reply says, if it says that the documents do not answer, without the mark.

    None if it is an answer; "" if it is the mark alone.
    """
    mark = _MARK.match(reply)
    if mark:
        return reply[mark.end() :].strip()
    return reply.strip() if says_nothing(reply) else None


def without_mark(beginning: str) -> str:
    """Return the beginning of a reply without the mark; "" while it may become the mark."""
    if mark := _MARK.match(beginning):
        return beginning[mark.end() :]
    first = beginning.lstrip().casefold()
    return "" if UNANSWERED.casefold().startswith(first) else beginning


def says_nothing(reply: str) -> bool:
    """Return whether a reply says in its own words that the documents do not answer."""
    text = " ".join(reply.split())
    if not 0 < n_words(text) <= _LONGEST:
        return False
    clauses = [
        clause.strip(" .!。！*_\"“”'")
        for sentence in split_sentences(text)
        for clause in _CLAUSES.split(sentence)
    ]
    is_refusal = False
    for clause in filter(None, clauses):
        opening = _OPENING.match(clause)
        rest = clause[opening.end() :] if opening else clause
        if _REFUSAL.match(rest):
            is_refusal = True
        elif rest and not _BESIDE.match(clause):
            return False
    return is_refusal
