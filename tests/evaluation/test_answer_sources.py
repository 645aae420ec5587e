"""The source of every sentence of an answer."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evaluation.answer_sources import Texts, answer_sources, readings_of
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.family import Read
from gsum_assets.pipeline.tables import TABLES


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
