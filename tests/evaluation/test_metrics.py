"""Metrics of answers and rankings against closed forms and reference packages."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from gsum_assets.evaluation.retrieval_metrics import chunks_within, reading_rows, retrieval_metrics
from gsum_assets.evaluation.rouge import METRICS, lcs_length, rouge, tokens_of
from gsum_assets.evaluation.short_answers import (
    chosen_option,
    exact_match,
    is_right,
    listed,
    token_f1,
)
from gsum_assets.pipeline.family import Read
from tests.rows import rows_of

PACKAGE = RougeScorer(list(METRICS), use_stemmer=True)
EVERY_SCRIPT = RougeScorer(list(METRICS), tokenizer=SimpleNamespace(tokenize=tokens_of))

word = st.sampled_from(
    ["the", "Meeting", "meetings", "decided", "decide", "decision", "U.S.", "it's", "café", "1999"]
)
sentence = st.lists(word, max_size=25).map(" ".join)
latin = st.text(
    st.characters(max_codepoint=0x24F, exclude_characters="\u00adİ") | st.sampled_from("“”’—…€"),
    max_size=60,
)
text = st.one_of(sentence, latin, st.just(""))
chinese = st.text("港口在五月开放。the 1999", max_size=30)


@settings(max_examples=300)
@given(text, st.lists(text, min_size=1, max_size=4))
def test_latin_text_scores_as_by_the_package(prediction, references):
    expected = PACKAGE.score_multi(references, prediction)
    assert rouge(prediction, references) == {m: expected[m].fmeasure for m in METRICS}


@given(st.text() | chinese, st.lists(st.text() | chinese, min_size=1, max_size=4))
def test_text_of_any_script_scores_as_by_the_package_with_this_tokenizer(prediction, references):
    expected = EVERY_SCRIPT.score_multi(references, prediction)
    assert rouge(prediction, references) == {m: expected[m].fmeasure for m in METRICS}


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("The cafés’ meetings, 1999", ["the", "caf", "s", "meet", "1999"]),
        ("港口在1999年开放。", ["港", "口", "在", "1999", "年", "开", "放"]),
        ("Порт открыт в мае.", ["порт", "открыт", "в", "мае"]),
        ("Το λιμάνι", ["το", "λιμάνι"]),
        ("हिन्दी में १२", ["हिन्दी", "में", "१२"]),
        ("ميناءٌ قديم", ["ميناءٌ", "قديم"]),
        ("ท่าเรือ", ["ท่", "า", "เ", "รื", "อ"]),
        ("서울에서 만나요", ["서울에서", "만나요"]),
        ("😀 — €", []),
        ("bud\u00adget of\ufb01ce, cafe\u0301, İstanbul", ["budget", "offic", "caf", "istanbul"]),
    ],
)
def test_tokens_of_scripts(written, tokens):
    assert tokens_of(written) == tokens


@given(st.lists(st.sampled_from("abc"), max_size=40), st.lists(st.sampled_from("abc"), max_size=40))
def test_lcs_equals_dynamic_programming(first, second):
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    assert lcs_length(first, second) == lcs_length(second, first) == table[-1][-1]


def test_no_reference_raises():
    with pytest.raises(ValueError, match="no reference"):
        rouge("text", [])


ITEMS = [f"i{n}" for n in range(12)]


@given(
    st.lists(st.sampled_from(ITEMS), unique=True, min_size=1),
    st.sets(st.sampled_from([*ITEMS, "never", "found"]), min_size=1),
    st.lists(st.integers(1, 15), min_size=1, max_size=4, unique=True),
)
def test_any_ranking_equals_trec_eval(ranked, relevant, ks):
    import pytrec_eval

    cuts = ",".join(map(str, ks))
    measures = {f"{name}.{cuts}" for name in ("P", "recall", "ndcg_cut")} | {"recip_rank"}
    judge = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, measures)
    run = {item: float(-rank) for rank, item in enumerate(ranked)}
    truth = judge.evaluate({"q": run})["q"]
    found = retrieval_metrics(ranked, relevant, ks)
    assert found is not None
    assert found["mrr"] == pytest.approx(truth["recip_rank"])
    for k in ks:
        assert found[f"p@{k}"] == pytest.approx(truth[f"P_{k}"])
        assert found[f"r@{k}"] == pytest.approx(truth[f"recall_{k}"])
        assert found[f"ndcg@{k}"] == pytest.approx(truth[f"ndcg_cut_{k}"])
        p, r = found[f"p@{k}"], found[f"r@{k}"]
        assert found[f"f1@{k}"] == pytest.approx(2 * p * r / (p + r) if p + r else 0)


def test_nothing_retrieved_scores_zero():
    found = retrieval_metrics([], ["a"], ks=(3,))
    assert found == {"mrr": 0, "p@3": 0, "r@3": 0, "f1@3": 0, "ndcg@3": 0}
    assert retrieval_metrics(["a", "b"], []) is None


def test_invalid_arguments_raise():
    with pytest.raises(ValueError, match="'b' is ranked twice"):
        retrieval_metrics(["a", "b", "b"], ["a"])
    with pytest.raises(ValueError, match="cut-off 0"):
        retrieval_metrics(["a"], ["a"], ks=(3, 0))


def read(*rows: tuple[str, str, str | None, str], held: dict | None = None) -> Read:
    """Question, node, document and text of each."""
    table_rows = (
        {"query_id": query_id, "rank": rank, "node_id": node, "document_id": document, "text": text}
        for rank, (query_id, node, document, text) in enumerate(rows, start=1)
    )
    return Read(rows_of("contexts", table_rows), held or {})


def measured(question: dict, found: Read) -> dict[str, float]:
    empty = {"document_id": None, "relevant_chunk_ids": [], "relevant_document_ids": []}
    rows = reading_rows({"q": {**empty, **question}}, found, lambda texts: [len(t) for t in texts])
    return {metric: value for _, metric, value in rows}


def test_marked_evidence_counts() -> None:
    found = read(("q", "a", "d", "xx"), ("q", "b", "d", "yyy"), ("other", "c", "d", "zzzz"))
    values = measured({"relevant_chunk_ids": ["a", "c"], "document_id": "d"}, found)
    assert values == {"context_p": 0.5, "context_r": 0.5, "context_f1": 0.5, "context_tokens": 5.0}


def test_documents_count_without_marked_evidence() -> None:
    found = read(("q", "a", "d", "x"), ("q", "b", "d", "x"), ("q", "c", "e", "x"))
    values = measured({"relevant_document_ids": ["d", "f"]}, found)
    assert values["context_p"] == pytest.approx(2 / 3)
    assert values["context_r"] == 0.5


def test_unmarked_single_document_question_has_only_length() -> None:
    question = {"document_id": "d", "relevant_document_ids": ["d"]}
    found = read(("q", "a", "d", "x"))
    assert measured({**question, "references": ["It is."]}, found) == {"context_tokens": 1.0}
    assert measured(question, found) == {}  # nothing to compare with


def test_longer_text_counts_as_its_chunks() -> None:
    held = {"report": [("a", "d"), ("b", "d"), ("z", "other")]}
    found = read(("q", "report", "d", "told"), ("q", "written", "d", "told"), held=held)
    values = measured({"relevant_chunk_ids": ["a"]}, found)
    assert values["context_p"] == pytest.approx(1 / 3)  # a, b, and a text that holds no chunk
    assert values["context_r"] == 1


def test_nothing_read_gives_zeros() -> None:
    values = measured({"relevant_chunk_ids": ["a"]}, read())
    assert set(values.values()) == {0.0}
    assert len(values) == 4


def test_excerpt_holds_chunks_with_half_inside() -> None:
    rows = [("a", 0, 10), ("b", 10, 20), ("c", 18, 30)]
    chunks = pa.Table.from_pylist(
        [{"chunk_id": c, "document_id": "d", "start": s, "end": e} for c, s, e in rows]
    )
    page = {"page_id": "p", "document_id": "d", "start": 4, "end": 20}
    other = {"page_id": "o", "document_id": "e", "start": 0, "end": 20}
    held = chunks_within(chunks, pa.Table.from_pylist([page, other]), "page_id")
    assert held == {"p": [("a", "d"), ("b", "d")], "o": []}


OPTIONS = ["A boat sank.", "A train was late.", "The mayor resigned.", "Nobody came."]


@pytest.mark.parametrize(
    ("prediction", "references", "f1", "is_exact"),
    [
        ("The Ebro!", ["ebro"], 1, 1),
        ("Ebro river", ["ebro"], 2 / 3, 0),
        ("in Hethering Mill", ["Hethering Mill"], 0.8, 0),  # 2 * 2/3 * 1 / (2/3 + 1)
        ("Mill", ["lock", "the mill"], 1, 1),
        ("在五月开放", ["五月开放了。"], 0.8, 0),  # four of five characters right, and found
        ("五月。", ["「五月」"], 1, 1),
        ("ميناء؟", ["ميناء"], 1, 1),
        ("“Mill” — was", ["“mill” was"], 0.8, 0),  # Latin text as SQuAD
        ("the", ["a"], 1, 1),
        ("", ["mill"], 0, 0),
    ],
)
def test_words_are_compared_after_normalization(prediction, references, f1, is_exact):
    assert token_f1(prediction, references) == pytest.approx(f1)
    assert exact_match(prediction, references) == is_exact


@given(st.text(max_size=30), st.text(max_size=30))
def test_token_f1_is_symmetric(one, other):
    assert token_f1(one, [other]) == pytest.approx(token_f1(other, [one]))
    assert token_f1(one, [one]) == exact_match(one, [one]) == 1


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("B", 1),
        ("(b)", 1),
        ("C. The mayor resigned.", 2),
        ("Answer: D", 3),
        ("The answer is (A).", 0),
        ("A", 0),
        ("A train was late", 1),
        ("A train, I believe, came late that day", 1),
        ("The mayor, who had resigned", 2),
        ("E", None),
        ("No idea", None),
        ("", None),
    ],
)
def test_choice_is_parsed_from_a_reply(reply, chosen):
    assert chosen_option(reply, OPTIONS) == chosen


def test_every_option_is_chosen_by_letter_and_text():
    for i, line in enumerate(listed(OPTIONS).splitlines()):
        assert chosen_option(line, OPTIONS) == chosen_option(line[:3], OPTIONS) == i
        assert chosen_option(OPTIONS[i], OPTIONS) == i
    assert [is_right(reply, OPTIONS, [OPTIONS[0]]) for reply in ("hm", "A")] == [0, 1]
