"""`transformers serve` with a model that only babbles: its text is taken, counted, and harmless."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.evaluation.judges.bias import position_bias
from gsum_assets.evaluation.judges.judgements import judge_answers
from gsum_assets.evaluation.judges.ratings import rating_scores
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.win_rates import win_rates
from tests.conftest import document_in, keep_no_step_logs
from tests.evaluation.judges import toys
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.pipeline.served_homes import HOSTILE, run
from tests.servers.clients import client_of, settings_for
from tests.servers.transformers_serve import transformers_serve, write_causal_lm

ANSWERS = {"bm25": {"q": "one answer"}, "gor": {"q": "another answer"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The base URL of the server, and the name of its model."""
    folder = tmp_path_factory.mktemp("served")
    model = write_causal_lm(folder / "tiny", context=16384)
    # it stops at any of sixty letters, so that its useless text is short
    generation = {"eos_token_id": list(range(1, 60)), "pad_token_id": 1}
    (model / "generation_config.json").write_text(json.dumps(generation))
    with transformers_serve(model, folder / "serve.log") as base_url:
        yield base_url, str(model)


def test_babbling_judge_is_counted(served: tuple[str, str]) -> None:
    base_url, model = served
    settings = settings_for(base_url, model=model, max_repairs=1, max_concurrent=2)
    with client_of(settings) as judge:
        found = judge_answers(
            toys.queries("q", references=["a reference"]),
            toys.summaries(ANSWERS),
            toys.contexts({"gor": {"q": ["a passage"]}}),
            judge,
            JudgesSettings(methods=list(ANSWERS)),
        )
    assert set(found.rows["verdict"].to_pylist()) == {"unparsed"}
    assert set(found.rows["model"].to_pylist()) == {model}
    assert found.rows.num_rows == 2 * 6 + 4 + 3
    assert [problem.split(" replies")[0] for problem in found.failures[1:]] == [
        "g_eval: 3 of 3",
        "llm_rater: 4 of 4",
        "pairwise: 2 of 2",
    ]
    rates = win_rates(found.rows).to_pylist()
    assert [(row["win_rate"], row["n"], row["unparsed"]) for row in rates] == [(None, 0, 2)] * 12
    assert position_bias(found.rows)["unparsed"].to_pylist() == [2] * 6
    assert rating_scores(found.rows).num_rows == 0


@pytest.mark.slow
def test_whole_run(served: tuple[str, str], tmp_path: Path) -> None:
    base_url, model = served
    with house_at(tmp_path) as house:
        house.write_document(document_in(0), HOSTILE * 60)
        house.write_document(document_in(1))
        question = {"query_id": "q", "text": "Who met the boat?"}
        write_lines(house.folder / "queries.jsonl", [question])
        (house.folder / "corpus.toml").write_text(
            f"[answer]\nmax_words = 10\n[retrieval]\nk = 2\n{WITHOUT_BERTSCORE}"
        )
        (house.home.root / "gsum.toml").write_text(
            f'[llm]\nbackend = "openai_compatible"\nmodel = "{model}"\n'
            f'base_url = "{base_url}"\napi_key_env = ""\n'
        )
        keep_no_step_logs(house.home)
        said = run(house)
        assert said.exit_code == 0, said.output
        (answer,) = house.table("summaries").to_pylist()
    assert answer["model"] == model
    assert answer["tokens_in"] > 0
    assert answer["tokens_out"] > 0
