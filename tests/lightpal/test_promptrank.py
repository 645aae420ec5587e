"""PromptRank over a table of what each path is worth."""

from collections.abc import Mapping

import numpy as np
import pytest

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.settings import PromptRankSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.scoring.unigram import UnigramScorer
from tests.lightpal.toys import EMPTY, Fixed, TableScorer, pairs_of, topic_tables, walk_graph
from tests.retrieval.toys import collection, toy_question

TEXTS = [*"abcdef"]
COLLECTION = Collection(TEXTS, TEXTS, TEXTS, TEXTS, np.arange(7))
# a, the first passage, leads to d and e; b leads to f, f to c
GRAPH = walk_graph(6, (0, 3), (0, 4), (1, 5), (5, 2))
WORTH = {"a": -4.0, "b": -5.0, "ad": -3.0, "ae": -6.0, "bf": -1.0, "bfc": -0.5}


def read(
    worth: Mapping[str, float] = WORTH,
    graph: WalkGraph = GRAPH,
    share: float = 0.0,
    n_first: int = 2,
    **settings: int,
) -> tuple[str, list[str]]:
    """Passages as they are ranked, and the paths that were read, one letter a passage."""
    scorer = TableScorer(lambda context, _: worth.get(context.replace("\n\n", ""), -9.0))
    initial = Fixed(-np.arange(6.0))
    method = PromptRank(
        COLLECTION,
        initial,
        ScopeGraphs(graph, graph),
        scorer,
        share,
        PromptRankSettings.model_validate({"beam": 2, **settings}),
        n_first,
    )
    found = method.scores(toy_question("what?"))
    np.testing.assert_array_equal(found.nodes, found.documents)
    paths = [context.replace("\n\n", "") for context in scorer.contexts]
    assert paths[: len(paths) // 2] == paths[len(paths) // 2 :]  # for chunks, then for documents
    return "".join(TEXTS[i] for i in np.argsort(-found.nodes[0])), paths[: len(paths) // 2]


def test_passage_scores_as_its_best_path():
    # b, f: -1 by b-f; a, d: -3 by a-d; e: -6 by a-e; c is on no path
    assert read() == ("bfadec", ["a", "b", "ad", "ae", "bf"])


def test_one_hop_scores_only_the_first_passages():
    assert read(hops=1) == ("abcdef", ["a", "b"])
    assert read({"a": -2.0, "b": -1.0}, hops=1)[0] == "bacdef"


def test_more_hops_score_longer_paths():
    assert read(hops=3) == ("bcfade", ["a", "b", "ad", "ae", "bf", "bfc"])


def test_paths_outside_the_beam_are_not_extended():
    assert read(beam=1) == ("adbecf", ["a", "b", "ad", "ae"])  # a is better than b


def test_path_visits_no_passage_twice():
    there_and_back = walk_graph(6, (0, 1), both_ways=True)
    assert read(graph=there_and_back, hops=4)[1] == ["a", "b", "ab", "ba"]


def test_graph_without_edges_has_no_paths():
    assert read(graph=walk_graph(6), hops=3)[1] == ["a", "b"]


def test_initial_share_is_kept():
    assert read(share=1.0)[0] == "abcdef"
    # K = 1: a; 2: and b, the best by paths; 3: two of the first, and f; 4: and d
    assert read(share=0.6)[0][:4] == "abfc"


def test_path_without_a_score_ranks_last_in_its_hop():
    # b is worth one less than a, -5, and b-f one less than a-e, -7
    assert read({**WORTH, "b": np.nan, "bf": np.nan})[0] == "adbefc"
    assert read(dict.fromkeys(WORTH, np.nan))[0][-1] == "c"


def test_questions_are_scored_after_the_texts_of_the_path():
    pairs = []
    scorer = TableScorer(lambda context, text: pairs.append((context, text)) or -1.0)
    graphs = ScopeGraphs(GRAPH, walk_graph(6))
    settings = PromptRankSettings(beam=1)
    method = PromptRank(COLLECTION, Fixed([3, 2, 1, 0, 0, 0]), graphs, scorer, 0.6, settings, 1)
    method.scores(toy_question("who?"))
    assert pairs == [("a", "who?"), ("a\n\nd", "who?"), ("a\n\ne", "who?"), ("a", "who?")]


@pytest.mark.parametrize("n", [1, 6])
def test_few_passages(n):
    here = Collection(TEXTS[:n], TEXTS[:n], TEXTS[:n], TEXTS[:n], np.arange(n + 1))
    scorer, graph = TableScorer(lambda context, text: -1.0), walk_graph(n)
    initial, settings = Fixed(np.arange(n)), PromptRankSettings()
    found = PromptRank(here, initial, ScopeGraphs(graph, graph), scorer, 0.6, settings, 20)
    assert np.argsort(-found.scores(toy_question("?")).nodes[0]).tolist() == [*range(n)][::-1]


# Context scores: each passage with its candidates, in the order of the candidates.


def test_score_is_of_the_candidate_given_the_passage():
    here, scorer = collection(), TableScorer(lambda context, text: len(context) - len(text) / 64)
    found = candidates(here, 3)
    rows = context_scores(found, here, scorer)
    assert rows.schema.equals(TABLES["lightpal.context_scores"].schema)
    text_of = dict(zip(here.document_ids, here.document_texts, strict=True))
    text_of |= dict(zip(here.chunk_ids, here.chunk_texts, strict=True))
    for row in pairs_of(found, rows):
        passage, candidate = text_of[row["passage_id"]], text_of[row["candidate_id"]]
        assert row["value"] == len(passage) - len(candidate) / 64


def test_unavailable_score_is_null():
    here = collection()
    silent = TableScorer(lambda context, text: np.nan if "clouds" in text else -1.0)
    found = candidates(here, 2)
    rows = pairs_of(found, context_scores(found, here, silent))
    assert {(row["candidate_id"], row["value"]) for row in rows if row["level"] == "document"} == {
        ("apples", -1.0),
        ("boats", -1.0),
        ("clouds", None),
    }


def test_default_scorer_prefers_shared_words():
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    found = candidates(here, 100)
    rows = pairs_of(found, context_scores(found, here, UnigramScorer()))
    same = [r["value"] for r in rows if r["passage_id"][:3] == r["candidate_id"][:3]]
    other = [r["value"] for r in rows if r["passage_id"][:3] != r["candidate_id"][:3]]
    assert np.mean(same) > max(0, np.mean(other))


@pytest.mark.parametrize("here", [EMPTY, collection().document(0), collection().document(2)])
def test_few_or_no_passages(here):
    found = candidates(here, 5)
    rows = context_scores(found, here, UnigramScorer())
    assert rows.num_rows == found.num_rows == len(here.chunk_ids) + len(here.document_ids)
    assert len(pairs_of(found, rows)) == (2 if len(here.chunk_ids) == 2 else 0)
