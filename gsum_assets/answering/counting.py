"""Exact answers to questions about a collection itself, by SQL over the table `documents`.

Their kinds are declared in `collection_questions.toml`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import regex

from gsum_assets.answering.answer import Answer, Source, Sources
from gsum_assets.answering.scope import find_document
from gsum_assets.corpus.document_names import named_rows, shown_names
from gsum_assets.corpus.sections import Locations
from gsum_assets.evaluation.answer_sentences import QUOTED, Line, Sentence
from gsum_assets.pipeline.result import count
from gsum_assets.pipeline.step import Inputs
from gsum_assets.retrieval.words import Words
from gsum_resources.store.arrow import pc
from gsum_resources.text.question_kinds import without_politeness
from gsum_resources.text.speech import speaker_labels, turn_spans
from gsum_resources.text.vocabulary import CHARACTER, lowered

_COLUMNS = ("document_id", "title", "n_words", "text", "date", "date_source")
_MOST_LISTED = 20
_STEM = 5  # first letters of a noun
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\p{Cf}]+")
_OF_NAMES = frozenset(("number", "titles", "longest", "shortest", "newest", "oldest"))
_FEWEST_NAMED = 2  # documents; of one, its name may be what a question is about
_MOST_WORDS = 5  # of a term, and terms of a question


class CollectionQuestion(NamedTuple):
    """A question about the documents as a collection, of a declared kind such as "mentions".

    `terms` are counted in any form, unless in quotation marks; `is_any`: one of them suffices.
    """

    kind: str
    terms: Sequence[str] = ()
    is_any: bool = False


def collection_question(question: str) -> CollectionQuestion | None:
    """Return a question as one about the collection; None: it is to be searched for."""
    text = re.sub(r"[\s?.!]+$", "", " ".join(without_politeness(question).split()))
    for kind, form in _forms():
        if match := form.fullmatch(text):
            groups = [name for name, value in match.groupdict().items() if value]
            kind = next((name for name in groups if name != "x"), kind)
            terms, is_any = _terms(match["x"]) if "x" in groups else ((), False)
            if bool(terms) == ("x" in groups):
                return CollectionQuestion(kind, terms, is_any)
    return None


def _terms(text: str) -> tuple[Sequence[str], bool]:
    """Return words to count, and whether one of them suffices; none for a clause."""
    either, both, quotation = map(_filled, ("{either}", "{both}", "{quotation}"))
    quoted, rest = re.findall(quotation, text), re.sub(quotation, '"', text)
    is_any = re.search(either, rest) is not None
    terms = [
        re.sub(_filled("^{determiners}"), "", piece, flags=re.IGNORECASE)
        for piece in re.split(either if is_any else both, rest)
    ]
    is_clause = re.search(_filled("{clause}"), rest, re.IGNORECASE)
    is_long = len(terms) > _MOST_WORDS or any(len(term.split()) > _MOST_WORDS for term in terms)
    is_mixed = is_any and re.search(both, rest)
    are_whole = len(quoted) == terms.count('"') == rest.count('"')  # terms that are quotations
    if is_clause or is_long or is_mixed or not are_whole:
        return (), False
    terms = [f'"{quoted.pop(0)}"' if term == '"' else term for term in terms]
    return (terms if all(re.search(r"[^\W_]", term) for term in terms) else ()), is_any


@cache
def _declared() -> Mapping[str, Any]:
    """Return what `collection_questions.toml` declares."""
    return tomllib.loads(Path(__file__).with_name("collection_questions.toml").read_text("utf-8"))


@cache
def _forms() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the forms of all kinds, in the order in which they are tried."""
    return [
        (name, re.compile(_filled(form), re.IGNORECASE))
        for name, kind in _declared()["kinds"].items()
        for form in kind.get("forms", ())
    ]


def _filled(template: str, **values: str) -> str:
    """Return a template with values and declared parts in place of their names in braces."""
    known = {**_declared()["parts"], **values}

    def value(name: re.Match[str]) -> str:
        return _filled(known[name[1]], **values) if name[1] in known else name[0]

    return re.sub(r"\{(\w+)\}", value, template)


def counted(
    question: str, inputs: Inputs, document: str | None, explain: bool, where: str
) -> Answer | None:
    """Return the exact answer to a question about the collection that `inputs` holds.

    None: it is to be searched for, or there is nothing of what it counts, such as speakers.
    `document` is the id or title of the only document that is counted, `where` the condition that
    the documents of `inputs` fulfil, which is shown beside the SQL.
    """
    asked = collection_question(question)
    if asked is None:
        return None
    import duckdb

    kind = _declared()["kinds"][asked.kind]
    named = named_rows(inputs.tables["documents"])
    columns = [name for name in _COLUMNS if "date" not in name or name in kind["sql"]]
    parts = inputs.tables["documents"].parts()
    try:
        documents = pa.concat_tables([part.columns(columns) for part in parts])
    except KeyError:  # an earlier version indexed them without dates
        return None
    if document is not None:
        titles = {row["document_id"]: row["title"] for row in named}
        document_id = find_document(document, titles, inputs.corpus)
        documents = documents.filter(pc.equal(documents["document_id"], document_id))
    corpus = pa.array([inputs.corpus] * documents.num_rows, pa.string())
    of_corpus = "documents WHERE corpus = '{}'".format(inputs.corpus.replace("'", "''"))
    words = Words(inputs.settings("language"))
    of_names = _of_names(asked, words)
    with duckdb.connect() as connection:
        connection.register("documents", documents.append_column("corpus", corpus))
        if asked.kind == "speakers":
            connection.register("turns", _turns(documents))

        def query(template: str, **values: str) -> tuple[str, list[dict[str, Any]]]:
            sql = " ".join(_filled(template, documents=of_corpus + of_names, **values).split())
            return sql, connection.sql(sql).to_arrow_table().to_pylist()

        ((n_documents,),) = map(dict.values, query("SELECT count(*) FROM {documents}")[1])
        if of_names and not re.fullmatch(_filled("{common}|{one}"), asked.terms[0], re.IGNORECASE):
            if n_documents < _FEWEST_NAMED:
                return None
        elif not n_documents:
            of_names, n_documents = "", documents.num_rows
        is_counted = asked.terms and asked.kind not in _OF_NAMES
        vocabulary = [row["word"] for row in query("{vocabulary}")[1]] if is_counted else []
        readings = _readings(asked, words, vocabulary)
        values, (sql, rows) = readings[0], query(kind["sql"], **readings[0])
        if not rows and len(readings) > 1:
            values, (sql, rows) = readings[1], query(kind["sql"], **readings[1])
    may_be_zero = kind.get("may_be_zero") and len(readings) == 1
    if not documents.num_rows or not (rows or may_be_zero):
        return None
    names, n = shown_names(named), len(rows)
    size = count(n_documents, "document") + f" named {values['terms']}" * bool(of_names)
    shown = {"total": 0, **values, **dict(*rows[:1]), "n": n, "size": size}
    head = kind["head"].format(**shown, s="s" * (n == 1), es="es" * (n == 1))
    items = [
        (row.get("label") or names[row["document_id"]] + row.get("detail", ""), row["document_id"])
        for row in rows
        if "document_id" in row
    ]
    lines = _lines(head, items, f"SQL{', of the documents where ' * bool(where)}{where}: {sql}")
    quoted = values["quoted"] or kind.get("quoted", "")
    return Answer(
        "\n".join(line.mark + line.sentences[0].text for line in lines),
        [],
        f"kind of question: {asked.kind}; counted, not searched\nread: {size}" if explain else "",
        _sources(_distinct(items), quoted, inputs, names),
        method="sql",
        lines=lines,
        question=question,
        corpus=inputs.corpus,
    )


def _of_names(asked: CollectionQuestion, words: Words) -> str:
    """Return the SQL condition of documents that a noun of a question names, such as "letters".

    They have its words in their names or at their beginning; "documents" names all.
    """
    noun = " ".join(asked.terms)
    if asked.kind not in _OF_NAMES or re.fullmatch(_filled("{any_document}"), noun, re.IGNORECASE):
        return ""
    names = "lower(concat_ws(' ', title, document_id, left(text, 99)))"
    stems = (re.escape(stem).replace("'", "''") for stem in words.terms(noun))
    return "".join(f" AND regexp_matches({names}, '(^|[^\\pL]){stem}')" for stem in stems)


def _lines(head: str, items: Sequence[tuple[str, str]], sql: str) -> list[Line]:
    """Return the lines of an answer: what it says, lists with the sources' numbers, and its SQL."""
    ids = _distinct(items)
    lines = [Line("", [Sentence(1, head)])]
    for number, (label, document_id) in enumerate(items[:_MOST_LISTED], 2):
        lines.append(Line("- ", [Sentence(number, label, [ids.index(document_id) + 1])]))
    if len(items) > _MOST_LISTED:
        lines.append(Line("", [Sentence(0, f"and {len(items) - _MOST_LISTED:,} more")]))
    return [*lines, Line("", [Sentence(0, sql)])]


def _distinct(items: Sequence[tuple[str, str]]) -> list[str]:
    """Return the ids of the documents of the items that are listed."""
    return list(dict.fromkeys(document_id for _, document_id in items[:_MOST_LISTED]))


def joined(answers: Sequence[Answer]) -> Answer:
    """Return the answers of several corpora as one, which names the corpus of each."""
    lines, sources, passages = [], [], []
    for answer in answers:
        for of in answer.lines:
            (sentence,) = of.sentences
            text = f"{answer.corpus}: {sentence.text}" if of is answer.lines[0] else sentence.text
            numbers = [len(sources) + number for number in sentence.numbers]
            lines.append(Line(of.mark, [replace(sentence, text=text, numbers=numbers)]))
        sources += [replace(s, title=f"{answer.corpus}: {s.title}") for s in answer.sources]
        of_corpus = [{"node_id": s.node_id, "corpus": answer.corpus} for s in answer.sources]
        passages += [{**row, "rank": rank} for rank, row in enumerate(of_corpus, len(passages) + 1)]
    text = "\n".join(line.mark + line.sentences[0].text for line in lines)
    return replace(answers[0], text=text, lines=lines, sources=sources, passages=passages)


def with_extent(question: str, answer: Answer, n_documents: int) -> Answer:
    """Return an answer that says how much was read, if it does not give the number requested.

    Of documents it never does: only some of the `n_documents` were read.
    """
    asked = re.match(_filled("{number}"), without_politeness(question), re.IGNORECASE)
    if not asked or (answer.is_refusal and asked["documents"] is None):
        return answer
    given = _filled("{given}", noun=re.escape(asked["noun"][:_STEM]))
    if asked["documents"] is None and re.search(given, answer.text, re.IGNORECASE):
        return answer
    n_read = len({row["document_id"] for row in answer.passages if row["document_id"]})
    passages = f"{count(len(answer.passages), 'passage')} of {n_read}"
    note = f"Nothing was counted: {passages} of {count(n_documents, 'document')} were read."
    lines = [*answer.lines, Line("", [Sentence(0, note)])]
    return replace(answer, text=f"{answer.text}\n{note}", lines=lines)


def _turns(documents: pa.Table) -> pa.Table:
    """Return the speaker and the words of each turn in documents in which somebody speaks twice."""
    rows: list[tuple[str, str, int]] = []
    for row in documents.to_pylist():
        text = row["text"]
        spans = [span for span in turn_spans(text, speaker_labels([text])) if span[0]]
        if len(spans) > len({name for name, *_ in spans}):
            rows += [(row["document_id"], name, len(text[i:j].split())) for name, i, j in spans]
    names = ["document_id", "speaker", "n_words"]
    return pa.table(list(zip(*rows, strict=True)) or [[], [], []], names)


def _readings(
    asked: CollectionQuestion, words: Words, vocabulary: Sequence[str]
) -> Sequence[dict[str, str]]:
    """Return values of the SQL: for words that stand side by side, then for each of them alone.

    The words of a person's name stand together. `vocabulary` has all words of the texts.
    """
    single = [w for t in asked.terms for w in ([t] if t[0] == '"' else t.split())]
    alone = [word for word in single if words.terms(word)]
    is_other = alone not in ([], asked.terms) and asked.kind != "presence"
    readings = []
    for terms in (asked.terms, alone) if is_other else (asked.terms,):
        patterns = [_pattern(term, words, vocabulary) for term in terms]
        counts = [f"len(regexp_extract_all(text, '{pattern}'))" for pattern in patterns]
        values = {"counts": ", ".join(counts), "quoted": "|".join(patterns)}
        values["least"] = "list_max" if asked.is_any else "list_min"
        shown = [f"“{term.strip(chr(34))}”" for term in terms]
        readings.append({**values, "terms": (" or " if asked.is_any else " and ").join(shown)})
    return readings


def _pattern(term: str, words: Words, vocabulary: Sequence[str]) -> str:
    """Return what finds the words of a term side by side, each in all forms of the vocabulary.

    Scripts without blanks have no marks between words.
    """
    edge = "" if regex.search(CHARACTER, term) else "/"
    pattern = ""
    for word in _WORD.findall(term.lower()):
        stem = "" if term[0] == '"' else words.term_of(lowered(word))
        forms = [w for w in vocabulary if stem and words.term_of(lowered(w)) == stem] or [word]
        pattern += f"{edge}(?:{'|'.join(forms)}){edge}"
    return pattern


def _sources(
    ids: Sequence[str], quoted: str, inputs: Inputs, names: Mapping[str, str]
) -> Sequence[Source]:
    """Return the first passage of each document that has what is quoted, else its first one."""
    pattern = quoted.replace("//", r"\W+").replace("/", r"\b")
    sentence = re.compile(rf"(?!\s)[^\n.!?]*(?:{pattern})[^\n.!?]*[.!?]?", re.IGNORECASE)
    chunks = inputs.tables["chunks"].rows_with("document_id", ids).sort_by("position").to_pylist()
    passages, quotes = [], []
    for rank, document_id in enumerate(ids, 1):
        own = [chunk for chunk in chunks if chunk["document_id"] == document_id]
        chunk = next((chunk for chunk in own if sentence.search(chunk["text"])), own[0])
        match = sentence.search(chunk["text"])
        start, end = match.span() if match else (0, len(chunk["text"]))
        passages.append({**chunk, "node_id": chunk["chunk_id"], "node_kind": "chunk", "rank": rank})
        span = {"start_char": chunk["start"] + start, "end_char": chunk["start"] + end}
        quotes.append({**span, "chunk_id": chunk["chunk_id"], "rank": rank, "kind": QUOTED})
    locate = Locations(inputs.tables["document_sections"].rows_with("document_id", ids))
    return Sources(passages, names, chunks, locate, quotes).listed()
