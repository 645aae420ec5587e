"""Questions to rankings, for every method of the family."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import communities, walk_trust
from gsum_assets.lightpal.rank import METHODS, PASSAGE_WALK, PassageSearch, Tables
from gsum_assets.lightpal.settings import RetrievalSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.retrieval.ranking import DEPTH, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.arrow import pc
from tests.lightpal.toys import TableScorer, edges_of, topic_tables

N_TOPICS, N_DOCUMENTS, N_CHUNKS = 8, 4, 5
SETTINGS = RetrievalSettings()


class Corpus(NamedTuple):
    """A corpus of 160 chunks, its graphs and questions."""

    collection: Collection
    questions: Questions
    tables: Tables


@cache
def corpus() -> Corpus:
    """A question about each topic and two about documents."""
    whole = topic_tables(N_TOPICS, N_DOCUMENTS, N_CHUNKS)
    collection = Collection.from_tables(*whole)
    edges = edges_of(collection)
    graphs = PassageGraphs.of(edges, "walk", both_ways=True)
    judged = walk_trust(collection, graphs, "en", 300)
    ids = collection.document_ids
    grouped = communities(graphs.whole("document", ids), ids)
    assert collection.embeddings is not None
    owners = [int(i[1:3]) for i in collection.chunk_ids]
    topics = [*range(N_TOPICS), 3, 5]
    means = [collection.embeddings[np.equal(owners, t)].mean(axis=0) for t in topics]
    vectors = np.array([mean / np.linalg.norm(mean) for mean in means], np.float32)
    texts = [f"What of Topic{t}word1, Topic{t}word2 and common{t}?" for t in topics]
    ids, about = [f"q{i}" for i in range(10)], [None] * N_TOPICS + ["d03-01", "d05-02"]
    questions = Questions(ids, texts, about, vectors)
    return Corpus(collection, questions, Tables(edges, judged, grouped))


def ranked(
    method: str,
    changed_corpus: Corpus | None = None,
    settings: RetrievalSettings = SETTINGS,
    scorer: Callable[[], PassageScorer] = UnigramScorer,
    k: int = DEFAULT_K,
) -> pa.Table:
    """Rows of `rankings` without what a clock says."""
    here = changed_corpus or corpus()
    search = PassageSearch(method, here.collection, here.tables, "en", settings, scorer, k)
    rows = search.rank(here.questions)
    assert rows.schema.equals(TABLES["rankings"].schema)
    return rows.drop_columns("latency_s")


def items(rows: pa.Table, query_id: str, level: str = "node") -> list[str]:
    """Return the items that a question finds, best first."""
    of_question = rows.filter(pc.equal(rows["query_id"], query_id))
    return of_question.filter(pc.equal(of_question["level"], level))["item_id"].to_pylist()


@pytest.mark.parametrize("method", METHODS)
def test_every_question_is_ranked(method):
    here, rows = corpus(), ranked(method)
    for query_id, document_id in zip(here.questions.ids, here.questions.document_ids, strict=True):
        own = rows.filter(pc.equal(rows["query_id"], query_id)).to_pylist()
        whole = document_id is None
        for level, n in (
            ("document", N_TOPICS * N_DOCUMENTS if whole else 1),
            ("node", DEPTH if whole else N_CHUNKS),
        ):
            found = [row for row in own if row["level"] == level]
            assert [row["rank"] for row in found] == [*range(1, n + 1)]
            assert len({row["item_id"] for row in found}) == n
            scores = [row["score"] for row in found]
            assert scores == sorted(scores, reverse=True)
            assert all(row["item_id"].startswith(document_id or "d") for row in found)


@pytest.mark.parametrize("method", METHODS)
def test_topic_is_found(method):
    rows = ranked(method)
    for topic in range(N_TOPICS):
        best = items(rows, f"q{topic}", "document")[:N_DOCUMENTS]
        found = [document.startswith(f"d{topic:02}") for document in best]
        assert found[0]
        assert sum(found) >= 2  # of four; by chance 0.5


@pytest.mark.parametrize(
    ("method", "settings", "initial"),
    [
        ("lightpal", {}, "dense"),
        ("lightpal-embedding", {}, "dense"),
        ("lightpal-hybrid", {}, "hybrid"),
        ("lightpal", {"initial": "bm25"}, "bm25"),
        ("lightpal-hybrid", {"initial": "bm25"}, "hybrid"),
        ("promptrank", {"initial": "tfidf"}, "tfidf"),
    ],
)
def test_six_of_ten_come_from_the_initial_retriever(method, settings, initial):
    here = corpus()
    rows = ranked(method, settings=RetrievalSettings.model_validate(settings), k=10)
    baseline = rank_questions(
        lambda scope: RETRIEVERS[initial](scope, Words("en")), here.questions, here.collection
    )
    others = dict.fromkeys(("document", "node"), 0)
    for query_id in here.questions.ids:
        for level in others:
            first = items(baseline, query_id, level)
            found = items(rows, query_id, level)[:10]
            assert set(first[:6]) <= set(found)
            others[level] += len(set(found) - set(first[:10]))
    assert others["node"] > 0  # not the initial retriever's best in another order


@pytest.mark.parametrize("method", METHODS)
def test_ranking_depends_on_its_k(method):
    few, many = (ranked(method, k=k) for k in (3, 20))
    assert few["item_id"].equals(many["item_id"]) == (method == PASSAGE_WALK)


@pytest.mark.parametrize("trusted", [set(), {"node"}, {"document"}])
def test_walk_uses_the_trust_stored_for_each_graph(trusted):
    here = corpus()
    judged = here.tables.walk_trust
    trust = pa.array([float(level in trusted) for level in judged["level"].to_pylist()])
    judged = judged.set_column(judged.schema.get_field_index("trust"), "trust", trust)
    rows = ranked(PASSAGE_WALK, here._replace(tables=here.tables._replace(walk_trust=judged)))
    seeds = rank_questions(lambda scope: Seeds(scope, "en"), here.questions, here.collection)
    for level in ("node", "document"):
        one, other = (t.filter(pc.equal(t["level"], level))["item_id"] for t in (rows, seeds))
        # documents of a trusted graph lend their chunks what their community has
        assert one.equals(other) == (not trusted or (level, trusted) == ("document", {"node"}))


def test_scorer_with_batch_statistics_scores_questions_by_the_corpus():
    texts = corpus().collection.chunk_texts
    expected = ranked("promptrank", scorer=lambda: UnigramScorer(background=texts))
    assert ranked("promptrank").equals(expected)
    pairwise = TableScorer(lambda context, text: -len(context))
    assert not ranked("promptrank", scorer=lambda: pairwise).equals(expected)
    assert pairwise.contexts


@pytest.mark.parametrize("method", METHODS)
def test_only_promptrank_requests_a_scorer(method):
    def refuse() -> PassageScorer:
        raise RuntimeError("no scorer")

    if method.startswith("promptrank"):
        with pytest.raises(RuntimeError, match="no scorer"):
            ranked(method, scorer=refuse)
    else:
        assert ranked(method, scorer=refuse).num_rows


@pytest.mark.parametrize("method", METHODS)
def test_one_short_document(method):
    here = corpus()
    alone = here.collection.document(0)
    tables = Tables(*(table.slice(0, 0) for table in here.tables))
    assert alone.embeddings is not None
    about = [None, alone.document_ids[0]]
    changed_corpus = Questions(["whole", "part"], ["Who?", "Who?"], about, alone.embeddings[:2])
    rows = ranked(method, Corpus(alone, changed_corpus, tables))
    assert rows["rank"].to_pylist() == [1, 1, 2, 3, 4, 5] * 2
