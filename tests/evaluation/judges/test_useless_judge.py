"""A judge that only babbles, behind `transformers serve`: everything is counted, nothing breaks."""

import json
from pathlib import Path

from gsum_assets.evaluation.judges.judge import judge_answers
from gsum_assets.evaluation.judges.position_bias import position_bias
from gsum_assets.evaluation.judges.rating_scores import rating_scores
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.win_rates import win_rates
from gsum_resources.endpoint import Endpoint
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.settings import LlmSettings
from tests.evaluation.judges import toys
from tests.servers.transformers_serve import transformers_serve, write_causal_lm

ANSWERS = {"bm25": {"q": "one answer"}, "gor": {"q": "another answer"}}


def test_useless_text_is_counted(tmp_path: Path) -> None:
    model = write_causal_lm(tmp_path / "tiny", context=16384)
    # it stops at any of sixty letters, so that its useless text is short
    generation = {"eos_token_id": list(range(1, 60)), "pad_token_id": 1}
    (model / "generation_config.json").write_text(json.dumps(generation))
    with transformers_serve(model, tmp_path / "serve.log") as base_url:
        settings = LlmSettings(
            backend="openai_compatible",
            base_url=base_url,
            model=str(model),
            api_key_env="",
            max_repairs=1,
            max_concurrent=2,
        )
        endpoint = Endpoint(settings)
        try:
            found = judge_answers(
                toys.queries("q", references=["a reference"]),
                toys.summaries(ANSWERS),
                toys.contexts({"gor": {"q": ["a passage"]}}),
                OpenAICompatibleModel(settings, endpoint),
                JudgesSettings(methods=list(ANSWERS)),
            )
        finally:
            endpoint.close()
    assert set(found.rows["verdict"].to_pylist()) == {"unparsed"}
    assert set(found.rows["model"].to_pylist()) == {str(model)}
    assert found.rows.num_rows == 2 * 6 + 4 + 3
    assert [problem.split(" replies")[0] for problem in found.problems[1:]] == [
        "g_eval: 3 of 3",
        "llm_rater: 4 of 4",
        "pairwise: 2 of 2",
    ]
    rates = win_rates(found.rows).to_pylist()
    assert [(row["win_rate"], row["n"], row["unparsed"]) for row in rates] == [(None, 0, 2)] * 12
    assert position_bias(found.rows)["unparsed"].to_pylist() == [2] * 6
    assert rating_scores(found.rows).num_rows == 0
