"""Index assets of LightPAL: candidates, context scores, passage graphs and their trust."""

from gsum_assets.graphs.approximate import approximation, recall
from gsum_assets.lightpal.candidates import compared, rows_of
from gsum_assets.lightpal.checks import ALL_SCORED, NEAR_EXACT
from gsum_assets.lightpal.communities import communities
from gsum_assets.lightpal.context_scores import scores_of
from gsum_assets.lightpal.earlier import basis_of, carried_lists
from gsum_assets.lightpal.earlier_edges import earlier_edges, edges_basis, hashes_of_lists
from gsum_assets.lightpal.earlier_scores import known_scores, text_digests_of
from gsum_assets.lightpal.lists import lists_of, scores_of_lists
from gsum_assets.lightpal.methods import METHODS, PASSAGE_WALK
from gsum_assets.lightpal.passage_edges import edges_among
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.settings import (
    CommunitySettings,
    GraphSettings,
    NeighbourSettings,
    WalkSettings,
)
from gsum_assets.lightpal.walk_trust import walk_trust
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.result import Result, Shown
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.retrieval.loading import MAPPED_FROM, collection_of, with_vectors_of
from gsum_assets.retrieval.seeds import keep_index
from gsum_resources.store.arrow import pc

_TEXTS = ("documents", "chunks")
PASSAGES = (*_TEXTS, "chunk_embeddings")
"""Arguments of `Collection.from_tables`, in order."""

EDGE = ("graph", "level", "scope", "source_id")
"""Text columns of `lightpal.passage_edges`, of which there are many rows."""

_MODELS = ("embedding_model", "passage_scorer")
_LISTS = ("level", "passage_id", "candidates")
_SCORES = ("level", "passage_id", "candidates_hash", "scores")


def _graph_settings(inputs: Inputs) -> GraphSettings:
    return GraphSettings.model_validate(inputs.settings("lightpal.graph"))


def _candidates(inputs: Inputs) -> Result:
    collection = collection_of(inputs)
    n = _graph_settings(inputs).n_candidates
    earlier = inputs.earlier("lightpal.candidates", settings=["lightpal.neighbours"])
    progress = inputs.progress("chunks compared")
    settings = NeighbourSettings.model_validate(inputs.settings("lightpal.neighbours"))
    whole = approximation(len(collection.chunk_ids), settings.exact_up_to, inputs.log)
    carried = carried_lists(earlier, collection)
    chunks, documents = compared(collection, n, progress, carried, inputs.engine, whole)
    measured = carried.recall if carried else None
    if len(chunks.items) == len(collection.chunk_ids):  # all are new; a few are compared exactly
        measured = None
        if whole is not None and collection.embeddings is not None:
            measured = recall(collection.embeddings, collection.starts, chunks.lists)
    shown: Shown = {"neighbours": "exact"}
    if measured is not None:
        shown = {"neighbours": "approximate", "recall": round(measured, 4)}
    rows = rows_of(collection, chunks, documents, carried)
    earlier.write_basis(rows, basis_of(collection.digests, measured))
    return Result(rows, shown=lambda: {"candidates": shown})


def _context_scores(inputs: Inputs) -> Result:
    scorer = inputs.model("passage_scorer")
    collection = collection_of(inputs, with_vectors=False)
    lists = lists_of(inputs.tables["candidates"].columns(_LISTS), collection)
    earlier = inputs.earlier("lightpal.context_scores", models=["passage_scorer"])
    rows = scores_of(lists, collection, scorer, known_scores(earlier, lists, collection))
    earlier.write_basis(rows, basis_of(text_digests_of(collection)))
    n_pairs = sum(near.numbers.size for near in lists.values())
    counts = {"pairs_scored": scorer.n_scored, "pairs": n_pairs}
    return Result(rows, shown=lambda: {"context_scores": counts})


def _passage_edges(inputs: Inputs) -> Result:
    collection = collection_of(inputs, with_vectors=False)
    similar = lists_of(
        inputs.tables["candidates"].columns([*_LISTS, "similarities"]), collection, "similarities"
    )
    scores = scores_of_lists(inputs.tables["context_scores"].columns(_SCORES), similar)
    n_edges = _graph_settings(inputs).n_edges
    if len(collection.chunk_ids) < MAPPED_FROM:
        edges = edges_among(similar, scores, collection, n_edges)
    else:  # the edges of passages with the same lists are kept
        hashes = hashes_of_lists(similar, scores)
        earlier = inputs.earlier("lightpal.passage_edges", settings=["lightpal.graph"])
        chosen = earlier_edges(earlier)
        edges = edges_among(similar, scores, collection, n_edges, chosen, hashes)
        earlier.write_basis(edges, edges_basis(similar, hashes))
    return Result(edges)


def _communities(inputs: Inputs) -> Result:
    ids = inputs.tables["documents"].columns(["document_id"])["document_id"].to_pylist()
    graph = _followed(inputs).whole("document", sorted(ids))
    settings = CommunitySettings.model_validate(inputs.settings("lightpal.communities"))
    rows = communities(graph, sorted(ids), settings)
    found = {"documents": rows.num_rows, "communities": len(pc.unique(rows["community"]))}
    return Result(rows, shown=lambda: {"communities": found})


def _followed(inputs: Inputs) -> PassageGraphs:
    """Return the graphs that `passage_walk` follows."""
    edges = inputs.table("passage_edges")
    return PassageGraphs.of(edges, METHODS[PASSAGE_WALK].graph, both_ways=True)


def _walk_trust(inputs: Inputs) -> Result:
    language = inputs.settings("language")
    # what the graph is computed from, besides texts
    _graph_settings(inputs)
    inputs.size("lightpal.passage_edges")
    for model in _MODELS:
        inputs.model(model)
    collection = collection_of(inputs, with_vectors=False, keep_indexes=True)
    keep_index(collection, language)
    rows = walk_trust(
        with_vectors_of(inputs, collection),
        _followed(inputs),
        language,
        WalkSettings.model_validate(inputs.settings("lightpal.walk")),
    )
    trust = {f"{row['level']}_{row['scope']}": row["trust"] for row in rows.to_pylist()}
    return Result(rows, shown=lambda: {"walk_trust": trust})


INDEX = (
    Step(
        _candidates,
        {
            "candidates": "The nearest passages, by exact search up to a number of chunks; pairs "
            "of which neither has changed are not compared again."
        },
        (*PASSAGES, "corpus_settings"),
        code_version="3",
        checks={"candidates": [NEAR_EXACT]},
    ),
    Step(
        _context_scores,
        {
            "context_scores": "Log probability of the candidate given the passage; pairs scored "
            "before are not scored again."
        },
        (*_TEXTS, "candidates", "passage_scorer"),
        costs=[
            Cost("passage", "passage_scorer", times="lightpal.graph.n_candidates", tokens_in=500)
        ],
        pool="llm",
        checks={"context_scores": [ALL_SCORED]},
    ),
    Step(
        _passage_edges,
        {
            "passage_edges": "From each passage to its best candidates; random walks follow them "
            "from a question's initial passages."
        },
        (*_TEXTS, "candidates", "context_scores", "corpus_settings"),
        code_version="2",
    ),
    Step(
        _communities,
        {
            "communities": "Dense groups of documents in the graph of `passage_walk`, by Leiden; a "
            "document that it follows to is found with the others of its group."
        },
        ("documents", "passage_edges", "corpus_settings"),
        dictionaries={"passage_edges": EDGE},
        methods=(PASSAGE_WALK,),
    ),
    Step(
        _walk_trust,
        {
            "walk_trust": "Estimated without labels, with held-out passages as queries; again when "
            "its edges pass a power of two, or models or settings change."
        },
        (*PASSAGES, "passage_edges", *_MODELS, "corpus_settings"),
        untracked=(*PASSAGES, "passage_edges"),
        dictionaries={"passage_edges": EDGE},
        methods=(PASSAGE_WALK,),
    ),
)
