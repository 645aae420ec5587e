"""Sentences of answers: who says them, and where they stand in the documents."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evaluation.answer_sentences import lines_of, said_sentences, without_citations
from gsum_assets.evaluation.answer_sources import Texts, answer_sources, readings_of
from gsum_assets.evaluation.passages import label_by
from gsum_assets.evaluation.quotations import DocumentWords, Speakers, Verdict, Words
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.family import Read
from gsum_assets.pipeline.tables import TABLES


@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        ("It sank [1]. Ann paid.[2][3]", "It sank. Ann paid.", {1: [1], 2: [2, 3]}),
        ("It sank. [1] Ann paid. [2]", "It sank. Ann paid.", {1: [1], 2: [2]}),
        ("It sank [1, 4-6] in May.", "It sank in May.", {1: [1, 4, 5, 6]}),
        ("It sank. [passages 1 and 2]", "It sank.", {1: [1, 2]}),
        ("- It sank. [1]\n- Ann paid. [2]", "- It sank.\n- Ann paid.", {1: [1], 2: [2]}),
        ("It sank. Ann paid.\n\n[2]", "It sank. Ann paid.", {2: [2]}),
        ("## The boat [3]\nIt sank.[1]She paid.", "## The boat\nIt sank. She paid.", {1: [1]}),
        ("It was built [1846].", "It was built [1846].", {}),
        ("It sank.", "It sank.", {}),
        ("它沉了【1】。安付了钱[2]。", "它沉了。安付了钱。", {1: [1], 2: [2]}),
    ],
)
def test_numbers_are_taken_out(reply: str, text: str, cited: dict) -> None:
    assert without_citations(reply) == (text, cited)


def test_only_sentences_with_words_are_numbered() -> None:
    answer = "## What happened\n– It sank. …\n\n1. Ann paid.\nTwo things:\n- the rent"
    shown = [(line.mark, [(s.number, s.text) for s in line.sentences]) for line in lines_of(answer)]
    assert shown == [
        ("## ", [(0, "What happened")]),
        ("– ", [(1, "It sank. …")]),
        ("", []),
        ("1. ", [(2, "Ann paid.")]),
        ("", [(0, "Two things:")]),
        ("- ", [(3, "the rent")]),
    ]


def test_only_known_names_are_split_off() -> None:
    names = frozenset(["Dov", "Ann Lee"])
    (said,) = said_sentences("Dov: Ann Lee (chair): We go: now.", names)
    assert (said.names, said.words) == (("Dov", "Ann Lee"), "We go: now.")
    (said,) = said_sentences("Note: we go.", names)
    assert (said.names, said.words) == ((), "Note: we go.")


MEETING = """\
Ines (chair): Right, um, the the rails for the fore- foredeck hatch, you know, cost nine hundred.
Teo: Mm-hmm.
Ines (chair): And they, uh, have to wait and
Teo: Yeah.
Ines (chair): see the Trust first. "Open hatch," he wrote.

# Votes
Teo: We paid. We paid.
"""


@pytest.mark.parametrize(
    ("sentence", "speaker", "quoted"),
    [
        (
            "The rails for the foredeck hatch cost nine hundred.",
            "Ines",
            "the rails for the fore- foredeck hatch, you know, cost nine hundred.",
        ),
        (
            "They have to wait and see the Trust first.",
            "Ines",
            "they, uh, have to wait and\nTeo: Yeah.\nInes (chair): see the Trust first.",
        ),
        ('"Open hatch," he wrote.', "", '"Open hatch," he wrote.'),
        ("The rails for the fored…", "Ines", "the rails for the"),
        ("They have to wait and see the Trust first.", "Teo", None),
        ("We paid.", "Teo", "We paid."),
        ("We paid.", "Ines", None),
        ("The rails cost nine hundred.", "Ines", None),
        ("The rails for the hatch cost nine hundred.", "Ines", None),
        ("They have not to wait.", "", None),
        ("…", "", None),
    ],
)
def test_sentences_are_found_in_the_words_of_their_speaker(
    sentence: str, speaker: str, quoted: str | None
) -> None:
    found = DocumentWords(MEETING).find(sentence, speaker)
    n = 2 if sentence == "We paid." else 1
    assert [MEETING[slice(*span)] for span in found] == ([quoted] * n if quoted else [])


def test_an_occurrence_is_the_shortest() -> None:
    text = "The boat, the um boat sank. The boat sank."
    assert [text[slice(*span)] for span in Words(text).find("The boat sank.")] == [
        "the um boat sank.",
        "The boat sank.",
    ]


@pytest.mark.parametrize("text", ["船沉了。安付了钱。", "Η βάρκα βυθίστηκε. Η Άννα πλήρωσε."])
def test_other_scripts(text: str) -> None:
    last = text.replace("。", "。 ").split("。 " if "。" in text else ". ")[1]
    (span,) = Words(text).find(last)
    assert text[slice(*span)].strip("。.") == last.strip("。.")


BOARD = (
    "# The hatch, 30 March\n"
    "Dov: The rails cost nine hundred pounds. Um, we we could, you know, borrow them.\n"
    "Hanneke: I move that there's a safety officer.\n"
    "Dov: Seconded."
)
STORY = "The frost went down two feet. Note: the lamp was out."


@pytest.fixture(scope="module")
def speakers() -> Speakers:
    return Speakers([BOARD, STORY])


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("Dov: The rails cost nine hundred pounds.", ["right"]),
        ("Dov: We could borrow them.", ["right"]),
        ("Dov: The rails cost nine… ", ["right"]),
        ("Dov: I move that there's a safety officer.", ["wrong speaker"]),
        ("Dov: Seconded. I move that there's a safety officer.", ["right", "wrong speaker"]),
        ("Dov: Seconded.\nI move that there's a safety officer.", ["right", "wrong speaker"]),
        ("Dov: Seconded.\n– I move that there's a safety officer.", ["right", "unattributed"]),
        ("Dov: Seconded.\n\nThe frost went down two feet.", ["right", "unattributed"]),
        ("Dov: Seconded.\n- Hanneke: I move that there's a safety officer.", ["right", "right"]),
        ("Dov: Seconded. borrow them.", ["right"]),
        ("Dov: Seconded. that there's a safety officer.", ["wrong speaker"]),
        ("Dov: The rails cost pounds.", ["not in a document"]),
        ("The frost went down two feet.", ["unattributed"]),
        ("Hanneke wants an officer.", ["not in a document"]),
    ],
)
def test_a_sentence_is_looked_up_in_the_turns_of_its_speaker(
    speakers: Speakers, text: str, verdicts: list[str]
) -> None:
    assert [str(speakers.verdict(s)) for s in speakers.shown(text)] == verdicts


def test_two_names_in_a_row_are_two_names(speakers: Speakers) -> None:
    text = "Dov: Hanneke: I move that there's a safety officer."
    (sentence,) = speakers.shown(text)
    assert sentence.words == "I move that there's a safety officer."
    assert sentence.names == ("Dov", "Hanneke")
    assert speakers.verdict(sentence) == Verdict.RIGHT
    assert speakers.verdict(sentence._replace(names=("Dov",))) == Verdict.WRONG
    joined = "Dov: Seconded. Hanneke: I move that there's a safety officer."
    assert [s.names for s in speakers.shown(joined)] == [("Dov",), ("Dov", "Hanneke")]


class NoCosines:
    """An embedder whose cosines are all 0, so that the words alone count."""

    identity, dimension = "none", 2

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.zeros((len(texts), 2), np.float32)

    embed_queries = embed


def as_table(name: str, rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, TABLES[name].schema)


TEXTS = {
    "meeting": "Ines: Um, the rails cost nine hundred. Dov: is no name here.\n"
    "Dov: We paid the, the yard in April.\nInes: Yes. I agree.",
    "report": "The ferry sank in May. The harbour board paid for a new pump. It was repaired.",
}
BORDER = {  # where the second chunk begins
    "meeting": TEXTS["meeting"].index("Dov: We"),
    "report": TEXTS["report"].index("The harbour"),
}


def chunk_rows() -> list[dict]:
    return [
        {"chunk_id": f"{document_id}{i}", "document_id": document_id, "position": i}
        | {"start": start, "end": end, "n_tokens": 1, "text": text[start:end]}
        for document_id, text in TEXTS.items()
        for i, (start, end) in enumerate(
            [(0, BORDER[document_id] - 1), (BORDER[document_id], len(text))]
        )
    ]


CHUNKS = {row["chunk_id"]: row for row in chunk_rows()}


TEXTS["table"] = "| Site | Rent |\n|---|---|\n| Kay | 512 |\n| Elm | 733 |"
CHUNKS["table1"] = {"chunk_id": "table1", "document_id": "table", "position": 1, "n_tokens": 1} | {
    "start": TEXTS["table"].index("| Elm"),
    "end": len(TEXTS["table"]),
    "text": "| Site | Rent |\n| Elm | 733 |",
}


def passage(node_id: str, text: str = "", document_id: str | None = None) -> dict:
    chunk = CHUNKS.get(node_id, {})
    return {"query_id": "q", "sample": 0, "node_id": node_id} | {
        "document_id": chunk.get("document_id", document_id),
        "text": text or chunk["text"],
    }


def sources(
    answer: str,
    shown: list[dict],
    cited: dict[int, list[int]] | None = None,
    held: dict | None = None,
    quotes_only: bool = False,
) -> list[dict]:
    key = ("q", 0)
    shown = [{**row, "rank": rank} for rank, row in enumerate(shown, 1)]
    table = as_table("contexts", shown)
    found = answer_sources(
        [{"query_id": "q", "sample": 0, "text": answer}],
        {key: cited or {}},
        readings_of({key: shown}, Read(table, held or {}), lambda: TEXTS),
        Texts(as_table("chunks", list(CHUNKS.values()))),
        Support(NoCosines),
        quotes_only,
    )
    return found.to_pylist()


def briefly(rows: list[dict]) -> list[tuple]:
    """Sentence, kind, rank, number written, chunk, and the characters of each source."""
    found = []
    for row in rows:
        start, end = row["start_char"], row["end_char"]
        shown = [TEXTS[row["document_id"]][start:end]] if row["document_id"] else []
        names = ("sentence", "kind", "rank", "cited", "chunk_id")
        found.append((*(row[name] for name in names), *shown))
    return found


READ = [passage("report0"), passage("meeting0"), passage("meeting1")]


def test_quoted_sentences_have_their_characters_and_passage() -> None:
    answer = (
        "Ines: The rails cost nine hundred.\nDov: We paid the yard in April.\n"
        "– The ferry sank in May."
    )
    assert briefly(sources(answer, READ)) == [
        (1, "quoted", 2, None, "meeting0", "the rails cost nine hundred."),
        (2, "quoted", 3, None, "meeting1", "We paid the, the yard in April."),
        (3, "quoted", 1, None, "report0", "The ferry sank in May."),
    ]


def test_rows_quoted_below_the_names_of_their_columns_are_found() -> None:
    read = [passage("table1"), *READ]
    row = "| Elm | 733 |"
    assert briefly(sources(f"| Site | Rent | {row}", read)) == [
        (1, "quoted", 1, None, "table1", row[:-2])
    ]
    assert briefly(sources("Elm 733.", read)) == [(1, "quoted", 1, None, "table1", row[2:-2])]
    cited = briefly(sources("The rent of the site Elm is 733.", read, {1: [1]}))
    assert cited == [(1, "cited", 1, 1, "table1", row)]


def test_words_of_another_speaker_are_no_source() -> None:
    assert briefly(sources("Dov: The rails cost nine hundred.", READ)) == [
        (1, "none", None, None, None)
    ]


def test_a_line_without_name_continues_the_speaker() -> None:
    paid = "We paid the yard in April."
    answer = f"Ines: The rails cost nine hundred.\n{paid}\n\n{paid}"
    assert [row["kind"] for row in sources(answer, READ)] == ["quoted", "none", "quoted"]


def test_a_sentence_of_no_passage_is_found_in_their_document() -> None:
    assert briefly(sources("It was repaired.", [passage("report0")])) == [
        (1, "quoted", None, None, "report1", "It was repaired.")
    ]


def test_a_sentence_of_a_response_is_traced_to_its_chunk() -> None:
    response = passage("r", "The harbour board paid for a new pump.", "report")
    assert briefly(sources("The harbour board paid for a new pump.", [READ[1], response])) == [
        (1, "quoted", 2, None, "report1", "The harbour board paid for a new pump.")
    ]


def test_a_passage_of_unknown_documents_is_traced_through_all() -> None:
    report = passage("community", "We paid the yard in April.")
    (found,) = sources("We paid the yard in April.", [report])
    assert found["chunk_id"] == "meeting1"
    held = {"community": [("report0", "report")]}
    assert [row["kind"] for row in sources("We paid the yard in April.", [report], None, held)] == [
        "none"
    ]


@pytest.mark.parametrize(("quotes_only", "kind"), [(True, "quoted"), (False, "none")])
def test_a_sentence_of_function_words_is_a_quotation_of_models_that_only_quote(
    quotes_only: bool, kind: str
) -> None:
    (found,) = sources("Yes.", READ, quotes_only=quotes_only)
    assert found["kind"] == kind


def test_cited_passages_count_where_they_support() -> None:
    answer = "In May, the ferry sank. In May, the ferry sank. In May, the ferry sank. Ann left."
    cited = {1: [1], 2: [2], 3: [9, 1]}
    assert briefly(sources(answer, READ, cited)) == [
        (1, "cited", 1, 1, "report0", "The ferry sank in May."),
        (2, "unsupported", 2, 2, None),
        (3, "unsupported", None, 9, None),
        (3, "cited", 1, 1, "report0", "The ferry sank in May."),
        (4, "none", None, None, None),
    ]


def test_a_quoted_sentence_keeps_a_wrong_number_beside_it() -> None:
    rows = sources("The ferry sank in May.", READ, {1: [1, 3]})
    assert briefly(rows) == [
        (1, "quoted", 1, 1, "report0", "The ferry sank in May."),
        (1, "unsupported", 3, 3, None),
    ]
    assert [row["source"] for row in rows] == [1, 2]


def test_a_cited_report_is_resolved_to_the_chunk_it_was_made_of() -> None:
    report = passage("community", "The board of the harbour paid. A pump was bought.")
    held = {"community": [("report0", "report"), ("report1", "report")]}
    rows = sources("A new pump was paid by the board of the harbour.", [report], {1: [1]}, held)
    assert briefly(rows) == [(1, "cited", 1, 1, "report1", TEXTS["report"][BORDER["report"] :])]


TEXT = "Ines: The rails cost nine hundred. And the lamp costs more.\nDov: We paid. Ines: no."
SPOKEN = [
    {"chunk_id": f"c{i}", "document_id": "m", "position": i, "start": start, "end": end}
    | {"n_tokens": 1, "text": TEXT[start:end]}
    for i, (start, end) in enumerate([(0, 34), (35, 59), (60, len(TEXT))])
]
PAGES = [
    {"document_id": "m", "kind": "page", "position": i, "level": 0, "label": str(i), "start": at}
    for i, at in ((1, 0), (2, 60))
]


@pytest.mark.parametrize(
    ("node_id", "kind", "document_id", "label"),
    [
        ("c0", "chunk", "m", "Budget, page 1"),
        ("c1", "chunk", "m", "Budget, page 1; Ines is speaking"),
        ("c2", "chunk", "m", "Budget, page 2"),
        ("r", "response", "m", "Budget, response"),
        ("r", "partial_answer", None, "partial answer over several documents"),
    ],
)
def test_labels_name_document_place_and_speaker(
    node_id: str, kind: str, document_id: str | None, label: str
) -> None:
    tables = {"chunks": SPOKEN, "document_sections": PAGES}
    made = {name: as_table(name, rows) for name, rows in tables.items()}
    label_of = label_by({"m": "Budget"}, made["document_sections"], Texts(made["chunks"]))
    row = {"node_id": node_id, "node_kind": kind, "document_id": document_id}
    assert label_of(row) == label
