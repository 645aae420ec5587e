"""The page: in one file, every link has a target, for any texts."""

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.report.page import build, render
from gsum_assets.report.stored import read_stored
from gsum_resources.store.parquet_store import ParquetStore, Partition
from tests.report import toys
from tests.report.reading import Document

HOSTILE = (
    "<script>alert(1)</script>\"><img src=x onerror=alert(1)>' onload=alert(1) x=' "
    '<a href="javascript:alert(1)">javascript:alert(1)</a> ]]> --> </style></title></svg> '
    "&lt;b&gt; {{ 7 * 7 }} {% for %} \u202eהכל הפוך\u202c شيء \x00\x07\x1b[31m\x9f "
) + 10_000 * "W"


def page_of(root: Path, split: str = "all", questions: int = 200, **how: object) -> str:
    return render(build(toys.stored(root, **how), split, questions))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("hostile"), text=HOSTILE)


def test_page_loads_nothing_external_and_runs_no_script(plain: str) -> None:
    page = Document(plain)
    assert "script" not in page.tags
    assert "link" not in page.tags
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("content", policy) in page.attributes
    assert all(not name.startswith("on") for name, _ in page.attributes)
    assert all("://" not in value for _, value in page.attributes)
    assert all(word not in style for style in page.styles for word in ("url(", "@import", "://"))
    assert len(page.pictures) == 2  # of two kinds of question


def test_every_link_has_one_target(plain: str) -> None:
    page = Document(plain)
    assert len(page.ids) == len(set(page.ids))
    targets = {target for target, _ in page.links}
    assert all(target.startswith("#") for target in targets)
    assert {target[1:] for target in targets} <= set(page.ids)


def test_every_score_links_to_its_answer_with_references_and_passages(plain: str) -> None:
    page = Document(plain)
    answers = {f"#a{question}-{method}" for question in range(1, 5) for method in range(1, 4)}
    assert answers <= set(page.cells)
    for i in range(4):
        assert f"Reference to question {i}." in page.text
        for method in toys.METHODS:
            assert f"Answer of {method} to {i}." in page.text
    starts = {method: page.text.index(f"Answer of {method} to 1.") for method in toys.METHODS}
    assert page.text.index("Reference to question 1.") < min(starts.values())
    assert any(re.fullmatch("#p[0-9]+", target) for target, _ in page.links)


def test_passage_is_included_once_for_all_answers(plain: str) -> None:
    text = Document(plain).text
    for document in toys.DOCUMENTS:
        for starts in range(toys.N_PASSAGES):
            assert text.count(f"Passage {starts} of the {document}.") == 1


def test_a_sentence_leads_to_where_it_stands_in_its_passage(tmp_path: Path) -> None:
    text = page_of(tmp_path, text="Nobody knows. The moon is cheese.")
    page = Document(text)
    anchors = {target for target, shown in page.links if shown == "1" and target[1] == "s"}
    (anchor,) = anchors
    assert f'<mark id="{anchor[1:]}">Passage 2 of the harbour</mark>' in text
    assert (
        '<span class="open" title="no source was found">Nobody knows.</span><sup><b>?</b>' in text
    )
    assert 'title="passage 7 does not support it">7?</b>' in text


def test_a_refusal_has_a_colour_of_its_own(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path)
    rows = [r | {"text": "非", "is_refusal": True} for r in stored.summaries.to_pylist()]
    summaries = pa.Table.from_pylist(rows, stored.summaries.schema)
    none = stored.answer_sources.slice(0, 0)
    page = render(build(replace(stored, summaries=summaries, answer_sources=none), "all", 200))
    assert page.count('<p class="refusal" dir="auto">非</p>') == summaries.num_rows


def test_hostile_texts_stay_text(plain: str, hostile: str) -> None:
    expected, page = Document(plain), Document(hostile)
    more = page.tags - expected.tags
    assert set(more) == {"p"}  # the whole text of a question too long for its heading
    assert not expected.tags - page.tags
    names = {name for name, _ in expected.attributes}
    assert {name for name, _ in page.attributes} == names
    assert all("javascript:" not in value for name, value in page.attributes if name == "href")
    shown = re.sub("[\x00\x07\x1b\x9f]", "\ufffd", HOSTILE)
    for start in (
        "Answer of bm25 to 1. ",
        "Reference to question 1. ",
        "Passage 2 of the harbour. ",
    ):
        assert start + shown.strip() in page.text
    assert page.styles == expected.styles


def test_hostile_corpus_title_stays_text_in_page_and_plots(tmp_path: Path) -> None:
    stored = replace(toys.stored(tmp_path), title=HOSTILE, corpus=HOSTILE)
    page = Document(render(build(stored, "all", 0)))
    assert "<script>alert(1)</script>" in page.text
    assert "script" not in page.tags
    for picture in page.pictures:
        tags = {element.tag.split("}")[1] for element in picture.iter()}
        assert not tags & {"script", "img", "a", "foreignObject"}
    written = "".join(text for picture in page.pictures for text in picture.itertext())
    assert "<script>alert(1)</script>" in written


def test_long_report_states_how_to_see_all(tmp_path: Path) -> None:
    page = Document(page_of(tmp_path, n=9, questions=4))
    assert "4 of 9 answered questions" in page.text
    assert "gsum report tales --questions 9" in page.text
    assert sum(starts.startswith("q") and starts[1:].isdigit() for starts in page.ids) == 4
    assert "n = 8" in page.text  # the leaderboard is of all


@pytest.mark.parametrize(
    ("how", "shown", "absent"),
    [
        ({"questions": 0}, ["90.0"], ["Answer of", "Passage"]),
        (
            {"split": "test"},
            ["What of question 1?"],
            ["What of question 2?", "General questions"],
        ),
        (
            {"left_out": toys.JUDGED},
            [
                "No judge has compared these answers",
                "There are no costs of these methods yet",
                "No model has been called for this corpus so far",
                "no pair of methods to compare",
            ],
            [],
        ),
        ({"metrics": ()}, ["No answer was scored", "Answer of bm25 to 1."], []),
    ],
    ids=["no questions", "split", "unmaterialized", "no scores"],
)
def test_parts_that_are_left_out(
    tmp_path: Path, how: dict, shown: list[str], absent: list[str]
) -> None:
    page = Document(page_of(tmp_path, **how))
    assert [fragment for fragment in shown if fragment not in page.text] == []
    assert [fragment for fragment in absent if fragment in page.text] == []
    assert {target[1:] for target, _ in page.links} <= set(page.ids)


def test_corpus_without_questions_is_reported(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path / "warehouse"))
    rejected = {"document_id": "scan", "file": "scan.pdf", "line": 0, "reason": "holds no text"}
    rejected |= {"is_other_type": False, "n_crashes": 0}
    document = {"document_id": "harbour", "title": "The harbour", "text": "A b c.", "n_words": 3}
    chunk = {"chunk_id": "c", "document_id": "harbour", "position": 0, "start": 0, "end": 6}
    chunk |= {"text": "A b c.", "n_tokens": 4}
    for name, row in (("documents", document), ("rejected_documents", rejected), ("chunks", chunk)):
        toys._write(store, name, Partition(toys.CORPUS, "00"), toys._table(name, [row]))
    page = Document(render(build(read_stored(store, tmp_path, toys.CORPUS), "all", 5)))
    text = " ".join(page.text.split())
    for fragment in (
        "no question",
        "There is no question, so there is no answer to measure",
        "gsum run tales --methods default",
        "1 document of 3 words in 1 passage; 1 could not be taken in",
        "scan.pdfholds no text",
        "The harbour",
        "chunks1passage of a document",
        "No model has been called for this corpus so far",
    ):
        assert fragment in text, fragment
    for fragment in ("Answers written by", "How to read this", "0 methods", "Judges"):
        assert fragment not in text
    assert {target[1:] for target, _ in page.links} <= set(page.ids)


def test_answers_unseen_or_written_by_the_judge_are_flagged(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path)
    plain = render(build(stored, "all", 200))
    assert "also wrote answers" not in plain
    assert "by the model that wrote it" not in plain
    rows = [
        row | {"is_own": row["method"] == "bm25" and row["opponent"] is None, "share_shown": 0.25}
        for row in stored.judgements.to_pylist()
    ]
    judged = pa.Table.from_pylist(rows, stored.judgements.schema)
    page = render(build(replace(stored, judgements=judged), "all", 200))
    assert "The judge judge also wrote answers that it judged (bm25)" in page
    assert page.count("by the model that wrote it") == page.count("shown 25.0 % of its") == 4
