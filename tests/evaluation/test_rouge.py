import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from gsum_assets.evaluation.rouge import METRICS, Tokenizer, lcs_length, rouge, tokens_of

PACKAGE = RougeScorer(list(METRICS), use_stemmer=True)
EVERY_SCRIPT = RougeScorer(list(METRICS), tokenizer=Tokenizer())

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


def test_equals_the_package_on_long_texts():
    words = [
        "the",
        "ship",
        "left",
        "port",
        "and",
        "her",
        "captain",
        "never",
        "saw",
        "that",
        "harbour",
        "again",
        "while",
    ]
    first = " ".join(words[(i * i) % 13] for i in range(700))
    second = " ".join(words[(i * 5 + i // 7) % 13] for i in range(500))
    expected = PACKAGE.score(second, first)
    assert rouge(first, [second]) == {m: expected[m].fmeasure for m in METRICS}


def test_known_values():
    # prediction: 3 words, reference: 4; three shared words, "a b" shared, "a b d" in order.
    found = rouge("aaa bbb ddd", ["aaa bbb ccc ddd"])
    assert found == {
        "rouge1": pytest.approx(2 * 1 * 0.75 / 1.75),
        "rouge2": pytest.approx(2 * (1 / 2) * (1 / 3) / (5 / 6)),
        "rougeL": pytest.approx(2 * 1 * 0.75 / 1.75),
    }


def test_each_metric_takes_its_own_best_reference():
    together = rouge("aa bb cc", ["cc bb aa", "aa bb xx yy zz"])
    apart = [rouge("aa bb cc", [r]) for r in ("cc bb aa", "aa bb xx yy zz")]
    assert together["rouge1"] == apart[0]["rouge1"] == 1.0 > apart[1]["rouge1"]
    assert together["rouge2"] == apart[1]["rouge2"] > apart[0]["rouge2"] == 0.0


def test_inflections_match():
    assert rouge("the meetings decided", ["the meeting decides"])["rouge1"] == 1.0


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
