"""Questions about a collection itself are counted by SQL, and no others are."""

import doctest
import re
from pathlib import Path

import pandas as pd
import pytest

import gsum
from gsum_assets.answering.counting import collection_question

PRESENT = "Present: {}.\n\n"
TEXTS = pd.DataFrame(
    [
        ("jan", "January", PRESENT.format("Ann Muir (chair), Bo Lee") + "The ferry was late.", 1),
        ("feb", "February", PRESENT.format("Bo Lee and Cy Muir") + "Two ferries met a ferry.", 1),
        ("mar", "March", "Apologies: Bo Lee.\n\nThe pump of the pier broke. Nobody came.", 1),
        (
            "call",
            "Call",
            "Dee Fox: Is the Fa\u0308hre in?\nEd Roe: No.\nDee Fox: Fer\u00adry.",
            2,
        ),
    ],
    columns=["document_id", "title", "text", "part"],
)


@pytest.mark.parametrize(
    ("kind", "terms", "question"),
    [
        ("mentions", ["ferry"], "How many meetings mention the ferry?"),
        ("mentions", ['"heat pump"'], 'Which documents mention "heat pump"?'),
        ("topics", ["ferry"], "Which documents are about the ferry?"),
        ("mentions", ["ferry", "pier"], "What documents mention the ferry or the pier?"),
        ("mentions", ["ferry", "pump"], "Which minutes mention the ferry and the pump?"),
        ("topics", ["roof"], "Could you tell me which letters discuss the roof?"),
        ("mentions", ["ferry"], "List all documents that mention the ferry"),
        ("mentions", ["Ruth Adeyemi"], "In which meetings was Ruth Adeyemi mentioned?"),
        ("mentions", ['"budget"'], "Which reports contain the word “budget”?"),
        ("mentions", ["nitrogen accident"], "Which document mentions the nitrogen accident?"),
        ("topics", ["roof"], "Show me all letters about the roof"),
        ("topics", ["roof"], "What documents are there about the roof?"),
        ("mentions", ["ferry", "roof"], "Which files mention both the ferry and the roof?"),
        ("mentions", ['"ferry"'], "Which files contain 'ferry'?"),
        ("mentions", ["council's decision"], "Which files mention the council's decision?"),
        ("mentions", ["Fähre"], "Wie viele Protokolle erwähnen die Fähre?"),
        ("mentions", ["Fähre"], "In wie vielen Dokumenten wird die Fähre erwähnt?"),
        ("mentions", ["bac"], "Combien de documents mentionnent le bac ?"),
        ("topics", ["budget"], "Quels documents parlent du budget ?"),
        ("unmentioned", ["roof"], "How many letters don't mention the roof?"),
        ("occurrences", ["ferry"], "How often is the ferry mentioned?"),
        (
            "occurrences",
            ['"heat pump"'],
            'How many times is "heat pump" mentioned in the files?',
        ),
        ("occurrences", ["ferry"], "How often does the word ferry occur?"),
        ("occurrences", ["Fähre"], "Wie oft wird die Fähre erwähnt?"),
        ("number", ["documents"], "How many documents are there?"),
        ("number", ["meetings"], "How many meetings are there in this collection?"),
        ("number", ["files"], "How many files does this folder contain?"),
        ("number", [], "Combien de documents y a-t-il ?"),
        ("titles", [], "List the titles."),
        ("titles", [], "Show me the titles of all documents"),
        ("titles", ["documents"], "What documents are there?"),
        ("titles", [], "What's in here?"),
        ("titles", ["Dokumente"], "Welche Dokumente gibt es?"),
        ("longest", ["document"], "Which is the longest document?"),
        ("longest", ["Dokument"], "Welches ist das längste Dokument?"),
        ("longest", ["document"], "Quel est le document le plus long ?"),
        ("shortest", ["document"], "Which document is the shortest?"),
        ("newest", ["report"], "What is the most recent report?"),
        ("oldest", ["document"], "Which document is the oldest?"),
        ("newest", ["Dokument"], "Was ist das neueste Dokument?"),
        ("number", ["planning applications"], "How many planning applications are there?"),
        ("titles", ["board minutes"], "Which board minutes do we have?"),
        ("newest", ["Rundbrief"], "Welcher Rundbrief ist der neueste?"),
        ("titles", ["Kursberichte"], "Welche Kursberichte gibt es?"),
        ("mentions", ["hedgehogs"], "wich newsletters mention hedgehogs"),
        ("speakers", [], "How many speakers are there?"),
        ("speakers", [], "Who spoke the most?"),
        ("attendance", [], "Who attended how many meetings?"),
        ("attendance", [], "Who attended the most meetings?"),
        ("presence", ["Ruth Adeyemi"], "How many meetings did Ruth Adeyemi attend?"),
        ("presence", ["Adeyemi"], "Which meetings did Ms Adeyemi attend?"),
        ("presence", ["Theo Lund"], "How often was Theo Lund present?"),
    ],
)
def test_questions_about_the_collection(kind: str, terms: list[str], question: str) -> None:
    asked = collection_question(question)
    assert asked is not None
    assert (asked.kind, list(asked.terms)) == (kind, terms)
    assert asked.is_any == (" or " in question)
    assert collection_question(f"{question} And why?") is None


@pytest.mark.parametrize(
    "question",
    [
        "How many volunteers helped?",
        "How many seats does the hall have?",
        "How many documents are needed?",
        "How many letters did the council send?",
        "How many letters are in the word ferry?",
        "How many minutes are there in an hour?",
        "How many meetings are planned for 2025?",
        "How many committee meetings had no quorum?",
        "How many meetings mention that the ferry was late?",
        "How many meetings mention the ferry, and why?",
        "How many meetings mention the ferry but not the roof?",
        "How many meetings mention neither?",
        "Which documents mention '...'?",
        "Which documents mention C++?",
        'Which documents mention "?',
        'Which documents mention the "ferry?',
        'Which documents mention "ferry" or "pier" and "pump"?',
        'Which documents mention the "old" ferry?',
        "What are documents?",
        "How many pages does the report have?",
        "How many people attended the meeting?",
        "How many people spoke against it?",
        "How often does the ferry run?",
        "How often is the hall used?",
        "How often does flooding occur?",
        "How often is it mentioned?",
        "How often is the ferry mentioned in the minutes of June?",
        "Which documents are needed for an application?",
        "Which documents are about to expire?",
        "Which report names the highest sum?",
        "Which report mentions the highest sum?",
        "Which meetings discussed whether the ferry should stop?",
        "Which letters deal with it?",
        "Which meeting decided on the ferry?",
        "Which book is the oldest in the library?",
        "What is the oldest tree in the park?",
        "Which member is the oldest?",
        "What is the latest plan?",
        "What is the latest report on the bridge?",
        "What is in the box?",
        "What are these documents about?",
        "What are the main topics of these documents?",
        "What does the contract contain?",
        "What do the documents say about the ferry?",
        "List the reasons for the delay",
        "Is the ferry mentioned?",
        "Who is mentioned in the report?",
        "Who spoke about the ferry?",
        "Who attended the group meeting of 4 March 2024?",
        "Welche Dokumente braucht man für den Antrag?",
        "Combien coûte le document ?",
    ],
)
def test_other_questions_are_searched_for(question: str) -> None:
    assert collection_question(question) is None


@pytest.fixture(scope="module")
def result() -> gsum.Result:
    return gsum.run("bm25", TEXTS, progress=False)


def answered(result: gsum.Result, question: str, **scope: str) -> tuple[str, list[str]]:
    """The first line of an answer that was counted, and what it lists."""
    answer = result.ask(question, **scope)
    assert (answer.method, answer.model) == ("sql", "")
    head, *items, sql = answer.text.splitlines()
    assert re.match(r"SQL.*: (?:SELECT|WITH) ", sql)
    return head, [item.removeprefix("- ") for item in items]


@pytest.mark.parametrize(
    ("question", "head", "items"),
    [
        (
            "How many meetings mention the ferry?",
            "3 of 4 documents mention “ferry”.",
            ["February", "Call", "January"],
        ),
        ('How many meetings mention "ferry"?', "2 of 4 documents mention “ferry”.", ...),
        (
            "How often is the ferry mentioned?",
            "“ferry”: mentioned 4 times, in 3 of 4 documents.",
            ["February: 2", "Call: 1", "January: 1"],
        ),
        ("Which files mention the Fähre?", "1 of 4 documents mentions “Fähre”.", ["Call"]),
        (
            "Which files don't mention Bo Lee?",
            "1 of 4 documents does not mention “Bo Lee”.",
            ["Call"],
        ),
        (
            "Which files mention the ferry or the pier?",
            "4 of 4 documents mention “ferry” or “pier”.",
            ["February", "Call", "January", "March"],
        ),
        (
            "Which files mention Nobody and the pier?",
            "1 of 4 documents mentions “Nobody” and “pier”.",
            ["March"],
        ),
        ("Which files mention the pier pump?", ..., ["March"]),  # not side by side
        ("Which files mention zeppelins?", "0 of 4 documents mention “zeppelins”.", []),
        ("How many documents are there?", "The collection has 4 documents, with 44 words.", []),
        (
            "What is in here?",
            "The collection has 4 documents:",
            ["Call", "February", "January", "March"],
        ),
        ("Which is the longest document?", "The longest of 4 documents has 12 words:", ...),
        (
            "Who spoke most?",
            "Of the speakers (2 in 4 documents) Dee Fox spoke most:",
            ["Dee Fox: 5 words, turns: 2", "Ed Roe: 1 words, turns: 1"],
        ),
        (
            "Who attended how many meetings?",
            "3 names in the attendance lists of 2 of 4 documents:",
            ["Bo Lee: 2", "Ann Muir: 1", "Cy Muir: 1"],
        ),
        (
            "How many meetings did Mr Muir attend?",
            "Ann Muir and Cy Muir: present in 2 of the 2 documents that list who was present.",
            ["February", "January"],
        ),
    ],
)
def test_counts_are_exact(result: gsum.Result, question: str, head: str, items: list[str]) -> None:
    counted = answered(result, question)
    assert head in (counted[0], ...)
    assert items in (counted[1], ...)


def test_sources_quote_what_was_counted(result: gsum.Result) -> None:
    answer = result.ask("Which files mention the ferry?")
    assert list(answer.sentences["numbers"])[1:4] == [[1], [2], [3]]
    assert list(answer.sources["title"]) == ["February", "Call", "January"]
    marked = [source.text[slice(*source.marked[0])] for source in answer._found.sources]
    assert marked == ["Two ferries met a ferry.", "Dee Fox: Fer\u00adry.", "The ferry was late."]


def test_scope_restricts_what_is_counted(result: gsum.Result) -> None:
    head, _ = answered(result, "Which files mention the ferry?", where="part = 1")
    assert head == "2 of 3 documents mention “ferry”."
    assert (
        "SQL, of the documents where part = 1:"
        in result.ask("List all files", where="part = 1").text
    )
    head, _ = answered(result, "How often is the ferry mentioned?", document_id="February")
    assert head == "“ferry”: mentioned 2 times, in 1 of 1 document."
    assert "counted, not searched" in result.ask("List the titles.", explain=True).explanation


@pytest.mark.parametrize(
    "question", ["Which files are about zeppelins?", "Which meetings did Bo Ives attend?"]
)
def test_nothing_to_count_is_searched_for(result: gsum.Result, question: str) -> None:
    assert result.ask(question).method == "bm25"


def test_numbers_that_nothing_counts_say_what_was_read(result: gsum.Result) -> None:
    def note(question: str) -> str:
        return result.ask(question).text.partition("Nothing was counted: ")[2]

    assert note("How many meetings were late?").endswith("of 4 documents were read.")
    assert note("How many ferries met a ferry?") == ""  # "Two ferries"
    assert note("What was late?") == ""


def test_newest_and_oldest_are_by_the_date_of_the_documents() -> None:
    rows = [("a", "One.", "2024-05-01"), ("b", "Two.", "2023-05-01"), ("c", "Three.", None)]
    texts = pd.DataFrame(rows, columns=["document_id", "text", "date"])
    dated = gsum.run("bm25", texts, progress=False)
    head, items = answered(dated, "Which is the newest document?")
    assert head == "The newest of 3 documents, of which 2 have a date:"
    assert items == ["a (2024-05-01): 2024-05-01 (column)"]
    assert answered(dated, "What is the oldest file?")[1] == ["b (2023-05-01): 2023-05-01 (column)"]
    undated = gsum.run("bm25", {"a": "One.", "b": "Two."}, progress=False)
    assert undated.ask("Which is the newest document?").method == "bm25"


def test_many_documents_are_listed_in_part() -> None:
    many = gsum.run("bm25", {f"d{i:02d}": f"Ferry {i}." for i in range(25)}, progress=False)
    lines = many.ask("Which documents mention the ferry?").text.splitlines()
    assert lines[0] == "25 of 25 documents mention “ferry”."
    assert lines[-2] == "and 5 more"
    assert len(lines) == 1 + 20 + 2


def test_scripts_without_blanks_are_counted() -> None:
    texts = {"a": "我们在北京开会。北京很大。", "b": "上海"}
    result = gsum.run("bm25", texts, settings={"language": "zh"}, progress=False)
    head, _ = answered(result, "How often is 北京 mentioned?")
    assert head == "“北京”: mentioned 2 times, in 1 of 2 documents."


def test_the_example_of_the_documentation_runs() -> None:
    page = Path(gsum.__file__).parents[1] / "docs" / "asking.md"
    tried = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, "asking", None, 0)
    assert doctest.DocTestRunner().run(tried) == (0, 5)
