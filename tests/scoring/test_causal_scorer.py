"""A causal model as scorer: equal to scoring each pair alone."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsum_resources.embedding.encoder import load_transformer
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.scoring import causal_scorer
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.settings.schema import ScorerSettings, SettingsError
from tests.scoring.tiny_models import CONTEXT, KINDS, Oracle, write_model

CONTEXTS = ["The boat met the lamp at the river. " * 3, "雪 falls.", "x"]
CANDIDATES = [
    [
        "The lamp went out.",
        "A clerk wrote a letter to the harbour. " * 4,
        "b",
        "Ein Boot 🚣 fährt.",
    ],
    [],
    ["The lamp went out.", "The lamp went out.", "winter " * 9],
]


def scorer_of(folder: Path, **settings: Any) -> CausalScorer:
    return CausalScorer(ScorerSettings(backend="transformers_local", model=str(folder), **settings))


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny", request.param)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.mark.parametrize("batch_tokens", [1, 512])  # of a CPU, of a GPU
def test_scores_equal_those_of_single_pairs(
    folder: Path, batch_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(causal_scorer._BATCH_TOKENS, "cpu", batch_tokens)
    oracle, scorer, received = Oracle(folder), scorer_of(folder), []
    assert isinstance(scorer, PassageScorer)
    assert scorer.identity.startswith("transformers_local-1/tiny/")
    scores = scorer.score(CONTEXTS, CANDIDATES, lambda *row: received.append(row))
    assert [row for row, _ in received] == [0, 1, 2]
    assert all(reported is row for (_, reported), row in zip(received, scores, strict=True))
    for context, row, reported in zip(CONTEXTS, CANDIDATES, scores, strict=True):
        expected = [oracle.score(context, candidate) for candidate in row]
        np.testing.assert_allclose(reported, expected, rtol=0, atol=1e-4)
    assert scores[0].std() > 0.1  # the model does distinguish texts


def test_models_are_loaded_one_at_a_time(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", "GPT2")
    settings = ScorerSettings(backend="transformers_local", model=str(folder))

    def load(number: int) -> Any:
        if number % 2:
            return load_transformer(folder, "tiny", "float32")
        return CausalWeights(settings).network

    with ThreadPoolExecutor(8) as pool:
        networks = list(pool.map(load, range(32)))[::2]
    assert all(n.lm_head.weight is n.transformer.wte.weight for n in networks)


def test_score_does_not_depend_on_other_candidates(folder: Path) -> None:
    scorer = scorer_of(folder)
    for context, row in zip(CONTEXTS, CANDIDATES, strict=True):
        (together,) = scorer.score([context], [row])
        alone = [scorer.score([context], [[candidate]])[0][0] for candidate in row]
        np.testing.assert_array_equal(alone, together)


def test_end_of_a_long_text_predicts_the_beginning(folder: Path) -> None:
    tale = "".join(f"In the {i}th winter a boat came. " for i in range(40))
    half = CONTEXT // 2
    assert len(tale) > 2 * CONTEXT
    scores = scorer_of(folder).score([tale], [[tale, tale[:half], tale[: half - 1], "A boat."]])[0]
    assert scores[0] == scores[1]
    expected = [Oracle(folder).score(tale, text) for text in (tale, tale[: half - 1], "A boat.")]
    np.testing.assert_allclose(scores[[0, 2, 3]], expected, rtol=0, atol=1e-4)


def test_blank_texts_have_no_score(llama: Path) -> None:
    scores = scorer_of(llama).score(["a boat", " \n", ""], [["", "a lamp", "\n"], ["a"], []])
    assert [np.isnan(row).tolist() for row in scores] == [[True, False, True], [True], []]
    padded = scorer_of(llama).score(["\na boat "], [["a lamp\n"]])
    assert padded[0][0] == scores[0][1]
    assert scorer_of(llama).score([], []) == []


def test_missing_model_is_reported_with_its_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[scorer\] model '/nor/this/one': no such folder"):
        scorer_of(Path("/nor/this/one"))
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(SettingsError, match=r"\[scorer\] model '.*' cannot be loaded"):
        scorer_of(tmp_path).score(["a"], [["b"]])
