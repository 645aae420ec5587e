"""How an answer came about, to read."""

import pyarrow as pa

from gsum_assets.jerr.explain import explained
from gsum_assets.pipeline.tables import TABLES
from tests.jerr.test_reread import again
from tests.jerr.test_search import found, keywords
from tests.jerr.tower import EDGES

NOTHING = {name: TABLES[f"jerr.{name}"].empty() for name in ("keywords", "searches", "look_ups")}


def lines_of(method: str, words: list[str]) -> list[str]:
    searches = pa.Table.from_pylist(found(method, words), TABLES["jerr.searches"].schema)
    row = {"query_id": "q", "chunk_ids": ["b1", "a1"], "n_shown": 3, "model": "", "calls": 1}
    row |= {"tokens_in": 0, "tokens_out": 0, "latency_s": 0.0, "cost_usd": 0.0}
    look_ups = pa.Table.from_pylist([row], TABLES["jerr.look_ups"].schema)
    text = explained(
        keywords({"q": words}), searches, look_ups, again(row["chunk_ids"]), edges=EDGES
    )
    return text.splitlines()


def test_explanation_lists_everything_in_order() -> None:
    lines = lines_of("jerr", ["storm", "ferry"])
    assert lines[0] == "keywords: storm, ferry"
    assert lines[2].startswith("nodes visited (")
    assert lines[3].split() == ["visits", "mean", "reward", "node"]
    mark, visits, mean, name, *matches = lines[4].split()
    assert (mark, matches) == ("*", ["(storm,", "ferry)"])
    (best,) = (row for row in found("jerr", ["storm", "ferry"]) if row["place"] == 1)
    assert (name, int(visits), mean) == (best["name"], best["visits"], f"{best['mean_reward']:.3f}")
    assert "best path: storm -[sinks]-> ferry" in lines
    start = lines.index("read again (2 of 3):")
    assert lines[start + 1 :] == ["      b, line chunk 0 (b1)", "      a, line chunk 0 (a1)"]


def test_pagerank_has_no_visits_and_no_path() -> None:
    lines = lines_of("jerr-ppr", ["ferry"])
    assert lines[3].split() == ["PageRank", "node"]
    assert not any("best path" in line for line in lines)


def test_question_without_keywords_is_explained() -> None:
    assert lines_of("jerr", [])[0] == "keywords: none: it asks for everything"


def test_method_without_search_explains_what_it_reread() -> None:
    rows = NOTHING["keywords"], NOTHING["searches"], NOTHING["look_ups"], again([])
    assert explained(*rows, edges=EDGES) == ""
