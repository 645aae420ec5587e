"""ROUGE and metrics of retrieval against closed forms and reference packages."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from gsum_assets.evaluation.retrieval_metrics import retrieval_metrics
from gsum_assets.evaluation.rouge import METRICS, lcs_length, rouge, tokens_of

PACKAGE = RougeScorer(list(METRICS), use_stemmer=True)
EVERY_SCRIPT = RougeScorer(list(METRICS), tokenizer=SimpleNamespace(tokenize=tokens_of))

word = st.sampled_from(
    ["the", "Meeting", "meetings", "decided", "decide", "decision", "U.S.", "it's", "café", "1999"]
)
sentence = st.lists(word, max_size=25).map(" ".join)
latin = st.text(st.characters(max_codepoint=0x24F) | st.sampled_from("“”’—…€"), max_size=60)
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
