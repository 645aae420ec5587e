"""Numbers of passages that a language model on a server writes behind its sentences."""

import re
import tomllib
from pathlib import Path

import pytest

import gsum
from gsum_assets.evaluation.passages import KEY_POINT
from gsum_assets.evaluation.prompts import ANSWER, REDUCE
from tests.gsum.test_equal_to_the_pipeline import QUESTIONS, SETTINGS, TEXTS
from tests.models import HashEmbedder
from tests.servers.extractive import extractive_says
from tests.servers.scripted import scripted_server

REFUSAL = "Asiakirjat eivät kerro sitä."
BEGINNINGS = tuple(p.partition("{")[0] for p in (ANSWER, REDUCE))  # of instructions to answer
# so that points are read, and not the passages themselves
_SHORT = {"graphrag": {"answers": {"prompt_tokens": 560}, "extraction": {"gleanings": 0}}}
_MANY = TEXTS | {f"{name} {i}": text for i in range(8) for name, text in TEXTS.items()}
WRONG = "The moon is made of cheese"


def citing(body: dict) -> str:
    """Quote the first sentence of the first two passages with their numbers, and add nonsense."""
    instructions, said = (message["content"] for message in body["messages"])
    if not instructions.startswith(BEGINNINGS):
        return extractive_says(HashEmbedder())(body)
    if "Who built the pyramids?" in said:
        return f"UNANSWERED: {REFUSAL}"
    passages = said.partition("\n\nQuestion: ")[0].split("\n\n[")
    first = [re.search(r"[A-Z][^.:\n]{20,}(?=\.)", p.partition("\n")[2]) for p in passages]
    one, two = [match[0] for match in first[:2] if match]
    return f"{one} [1]. Somebody said: {two}. [2] {WRONG} [1]. It was so [99]."


@pytest.mark.parametrize(
    "method",
    [
        "dense",
        *(
            pytest.param(method, marks=pytest.mark.slow)
            for method in ("evidence", "graphrag-local", "graphrag-ts")
        ),
    ],
)
def test_numbers_are_resolved_and_wrong_ones_are_counted(tmp_path: Path, method: str) -> None:
    reads_points = method == "graphrag-ts"
    with scripted_server(tmp_path / "log", citing) as server:
        llm = {"backend": "openai_compatible", "base_url": server.base_url, "model": "m"}
        result = gsum.run(
            method,
            _MANY if reads_points else TEXTS,
            QUESTIONS,
            tomllib.loads(SETTINGS) | {"llm": llm | {"api_key_env": ""}} | _SHORT,
            {"embedding_model": HashEmbedder()},
            progress=False,
        )
        refused = result.ask("Who built the pyramids?")
        shown = str(result.ask("Who paid for the pump?"))
    assert not result.answers["answer"].str.contains("[", regex=False).any()
    if reads_points:
        assert result.tables["graphrag.key_points"]["node_ids"].str.len().gt(0).all()
        reduced = result.tables["graphrag.reduced_contexts"].set_index("query_id")
        assert set(reduced.loc["q1", "node_kind"]) == {KEY_POINT}
    sources = result.tables["answer_sources"]
    kinds = sources.groupby("text")["kind"].agg(set)
    assert kinds[f"{WRONG}."] == {"unsupported"}
    assert kinds["It was so."] == {"unsupported"}
    located = sources[sources["kind"].isin(["quoted", "cited"])]
    assert {*located["cited"]} == {1, 2}
    assert located["chunk_id"].notna().all()
    assert not set(sources["kind"]) & {"none"}
    assert (refused.text, refused.is_refusal) == (REFUSAL, True)
    assert "[1?]" in shown
    assert "[99?]: the model" in shown or "[1?]: the model" in shown
    assert "class='refusal'" in refused._repr_html_()
