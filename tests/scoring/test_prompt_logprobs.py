"""Scores over real sockets: those of the server's model, for any names of its tokens."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsum_resources.endpoint import Endpoint
from gsum_resources.protocols.models import Metered, ModelUnavailableError, PassageScorer
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.scoring.prompt_logprobs import ServedScorer
from gsum_resources.settings.schema import ScorerSettings
from tests.scoring.tiny_models import Oracle, write_model
from tests.servers.clients import client_of, settings_for
from tests.servers.replies import logprobs_of
from tests.servers.scripted import ScriptedServer, scripted_server

CONTEXTS = ["The boat met the lamp.", "Winter came to the harbour.\n"]
CANDIDATES = [
    [f"{i} clerks wrote a letter." for i in range(12)],
    ["A bridge.", "A bridge over it."],
]
PATH = "/completions"


@contextmanager
def scorer_of(
    tmp_path: Path, settings: dict[str, Any] | None = None, **script: Any
) -> Iterator[tuple[ServedScorer, ScriptedServer]]:
    """A scorer and its server."""
    with scripted_server(tmp_path / "requests.jsonl", **script) as server:
        given = {"max_retries": 2, "max_concurrent": 4} | (settings or {})
        chosen = settings_for(server.base_url, ScorerSettings, **given)
        with client_of(chosen, ServedScorer) as scorer:
            yield scorer, server


def expected(context: str, candidate: str) -> float:
    """The mean over the candidate's tokens of what the scripted server draws for them."""
    tokens, values = logprobs_of(f"{context.strip()}\n\n{candidate}")
    own = len(re.findall(r"\s+|\S{1,4}", candidate))
    assert "".join(tokens[-own:]) == candidate
    return float(np.mean([value for value in values[-own:] if value is not None]))


def all_expected() -> list[list[float]]:
    pairs = zip(CONTEXTS, CANDIDATES, strict=True)
    return [[expected(context, candidate) for candidate in row] for context, row in pairs]


def test_faults_change_no_score(tmp_path: Path) -> None:
    faults = {"every": {"429": 5, "500": 7, "garbage": 11, "truncate": 13}, "retry_after": "0.02"}
    with scorer_of(tmp_path, {"max_retries": 9}, **faults) as (scorer, _):
        assert isinstance(scorer, PassageScorer)
        received: list[int] = []
        scores = scorer.score(CONTEXTS, CANDIDATES, lambda row, _: received.append(row))
        assert received == [0, 1]
        for scored, row in zip(scores, all_expected(), strict=True):
            assert scored.dtype == np.float64
            np.testing.assert_allclose(scored, row, rtol=1e-12)
        assert scorer.score([], []) == []


def test_server_scores_equal_those_of_its_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    contexts = ["雪 fell on the boat.", "A lamp."]
    candidates = [["Ein Boot 🚣 fährt — dort.", "雪", "A lamp."], ["“Winter” came.", "boat " * 30]]
    local = CausalScorer(ScorerSettings(backend="transformers_local", model=str(folder)))
    with scorer_of(tmp_path, reads=Oracle(folder).read) as (scorer, _):
        scores = scorer.score(contexts, candidates)
    for served, own in zip(scores, local.score(contexts, candidates), strict=True):
        np.testing.assert_allclose(served, own, rtol=0, atol=1e-4)


@pytest.mark.parametrize("gap", [r"\s+(?!\S)|\s", r"[.]?\n+|\s"], ids=["GPT-2", "Llama 3"])
def test_separator_is_excluded_under_any_tokenization(tmp_path: Path, gap: str) -> None:
    def read(prompt: str) -> tuple[list[str], list[float | None]]:
        tokens = re.findall(rf"{gap}|[^\s.]+|[.]", prompt)
        return tokens, [None, *(-float(len(token)) for token in tokens[1:])]

    with scorer_of(tmp_path, reads=read) as (scorer, _):
        scores = scorer.score(["A boat."], [["ab cde", "boat", "boats."]])[0]
    np.testing.assert_allclose(scores, [-(2 + 1 + 3) / 3, -4, -(5 + 1) / 2])


def test_long_texts_are_cut_to_half_the_window(tmp_path: Path) -> None:
    prompts: list[str] = []

    def read(prompt: str) -> tuple[list[str], list[float | None]]:
        prompts.append(prompt)
        return logprobs_of(prompt)

    with scorer_of(tmp_path, {"max_tokens": 64}, reads=read) as (scorer, _):
        scorer.score(["a" * 50 + "雪" * 40], [["Ende " * 20]])
    assert prompts == ["雪" * 21 + "\n\n", "雪" * 21 + "\n\n" + ("Ende " * 20)[:64]]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({"every": {"mute": 1}}, "does not contain them"),
        ({"every": {"unechoed": 1}}, "does not contain them"),
        ({"reject_parameters": ("echo",)}, "Unsupported parameter: 'echo'"),
        ({"reads": lambda prompt: (["a", "b", "c"], [None, None, None])}, "does not contain them"),
    ],
)
def test_server_without_prompt_log_probabilities_is_reported_once(
    tmp_path: Path, script: dict[str, Any], message: str
) -> None:
    with scorer_of(tmp_path, **script) as (scorer, server):
        with pytest.raises(
            ModelUnavailableError, match=f"'m' at {server.base_url} .*{message}"
        ) as e:
            scorer.score(CONTEXTS, CANDIDATES)
        assert len(server.lines(PATH)) <= 2
    for remedy in ("echo and logprobs", "vLLM", "[scorer]", "'transformers_local'"):
        assert remedy in str(e.value)


def test_failing_pair_costs_only_itself_and_blanks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    candidates = [["A bridge.", "poison here", "A boat."], ["poison too"], [" "], ["A boat."]]
    contexts = [*CONTEXTS, "poison", " \n"]
    with (
        caplog.at_level(logging.WARNING),
        scorer_of(tmp_path, {"max_retries": 0}, always_fail="poison") as (scorer, server),
    ):
        scores = scorer.score(contexts, candidates)
    assert [np.isnan(row).tolist() for row in scores] == [
        [False, True, False],
        [True],
        [True],
        [True],
    ]
    assert len(server.lines(PATH)) == 7  # three passages, four pairs
    assert scores[0][0] == pytest.approx(expected(CONTEXTS[0], "A bridge."))
    assert len(caplog.messages) == 3
    assert "no score of the prompt that ends in" in caplog.text
    assert "500: The server had an error" in caplog.text


def test_prompt_truncated_by_the_server_has_no_score(tmp_path: Path) -> None:
    def read(prompt: str) -> tuple[list[str], list[float | None]]:
        tokens, values = logprobs_of(prompt)
        return tokens[-12:], values[-12:]

    with scorer_of(tmp_path, reads=read) as (scorer, _):
        contexts = ["The boat met the lamp on the river in winter."]
        assert np.isnan(scorer.score(contexts, [["A clerk wrote a letter."]])[0][0])


def test_scores_are_reported_before_the_server_is_given_up(tmp_path: Path) -> None:
    received: dict[int, np.ndarray] = {}
    script = {"first": ("ok",) * 9 + ("401",) * 9}
    with scorer_of(tmp_path, {"max_concurrent": 1}, **script) as (scorer, server):
        with pytest.raises(ModelUnavailableError, match=r"requires a key.*\[scorer\] of gsum.toml"):
            scorer.score(CONTEXTS, CANDIDATES, received.__setitem__)
        assert len(server.lines(PATH)) == 10
    known = np.isfinite(received[0])
    assert known.sum() == 8  # after the passage's own request
    np.testing.assert_allclose(received[0][known], np.array(all_expected()[0])[known])


def test_tokens_are_estimated_where_the_server_counts_none(tmp_path: Path) -> None:
    with scorer_of(tmp_path, {"usd_per_million_tokens": 2.0}, usage=False) as (scorer, _):
        assert isinstance(scorer, Metered)
        assert scorer.usd_per_million_tokens == 2.0
        scorer.score(["A boat."], [["A lamp went out."]])
        assert (
            scorer.tokens_read == len("A boat.\n\n") // 4 + len("A boat.\n\nA lamp went out.") // 4
        )


def test_identity_distinguishes_models_and_windows() -> None:
    def identity(**settings: Any) -> str:
        chosen = ScorerSettings(backend="openai_compatible", **{"model": "m"} | settings)
        return ServedScorer(chosen, Endpoint(chosen)).identity

    assert identity() == "openai_compatible-1/m/window=4096"
    assert identity(version="2", max_tokens=512) == "openai_compatible-1/m/version=2/window=512"
    assert identity(base_url="http://x/v1", api_key_env="K", max_concurrent=2) == identity()
