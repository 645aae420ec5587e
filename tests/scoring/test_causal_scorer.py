"""A causal model as scorer: equal to scoring each pair alone, bit for bit in any batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsum_resources.protocols.models import PassageScorer
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


def scorer_of(folder: Path, batch_tokens: int | None = None, **settings: Any) -> CausalScorer:
    chosen = ScorerSettings(backend="transformers_local", model=str(folder), **settings)
    return CausalScorer(chosen, batch_tokens)


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny", request.param)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


def test_scores_equal_those_of_single_pairs(folder: Path) -> None:
    oracle, scorer, received = Oracle(folder), scorer_of(folder), []
    assert isinstance(scorer, PassageScorer)
    scores = scorer.score(CONTEXTS, CANDIDATES, lambda *row: received.append(row))
    assert [row for row, _ in received] == [0, 1, 2]
    assert all(reported is row for (_, reported), row in zip(received, scores, strict=True))
    for context, row, reported in zip(CONTEXTS, CANDIDATES, scores, strict=True):
        expected = [oracle.score(context, candidate) for candidate in row]
        np.testing.assert_allclose(reported, expected, rtol=0, atol=1e-4)
    assert scores[0].std() > 0.1  # the model does distinguish texts
    assert scores[2][0] == scores[2][1] != pytest.approx(scores[0][0])


def test_score_does_not_depend_on_its_batch(folder: Path) -> None:
    together = scorer_of(folder).score(CONTEXTS, CANDIDATES)
    small = scorer_of(folder, batch_tokens=64)
    for context, row, reported in zip(CONTEXTS, CANDIDATES, together, strict=True):
        alone = [small.score([context], [[candidate]])[0][0] for candidate in row]
        np.testing.assert_array_equal(alone, reported)
        (reversed_row,) = small.score([context], [row[::-1]])
        np.testing.assert_array_equal(reversed_row[::-1], reported)


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


def test_identity_depends_on_weights_and_version_not_path(llama: Path, tmp_path: Path) -> None:
    identity = scorer_of(llama).identity
    assert identity.startswith("transformers_local-1/tiny/")
    assert scorer_of(write_model(tmp_path / "copy" / "tiny")).identity == identity
    others = [
        scorer_of(write_model(tmp_path / "seed" / "tiny", seed=1)),
        scorer_of(llama, version="2"),
        CausalScorer(ScorerSettings(backend="transformers_local", model="some/hub-id")),
    ]
    assert len({identity, *(scorer.identity for scorer in others)}) == 4


def test_missing_model_is_reported_with_its_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[scorer\] model '/nor/this/one': no such folder"):
        scorer_of(Path("/nor/this/one"))
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(SettingsError, match=r"\[scorer\] model '.*' cannot be loaded"):
        scorer_of(tmp_path).score(["a"], [["b"]])
