"""LightPAL, its ablation and baselines, and our `passage_walk`: steps of index and questions."""

import pyarrow as pa

from gsum_assets.graphs.approximate import approximation, recall
from gsum_assets.graphs.nearest import nearest
from gsum_assets.lightpal.candidates import candidate_rows, lists_of, scores_of_lists
from gsum_assets.lightpal.context_scores import ALL_SCORED, context_scores
from gsum_assets.lightpal.increment import Basis, Updated, updated_candidates
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import communities, walk_trust
from gsum_assets.lightpal.rank import METHODS, PASSAGE_WALK, PassageSearch, Tables
from gsum_assets.lightpal.settings import (
    ContextSettings,
    GraphSettings,
    LightpalSettings,
    NeighbourSettings,
    RetrievalSettings,
    WalkSettings,
)
from gsum_assets.lightpal.tables import VIEWS
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result, Shown
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of, with_vectors_of
from gsum_assets.retrieval.seeds import keep_index
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_resources.store.arrow import pc

_TEXTS = ("documents", "chunks")
_PASSAGES = (*_TEXTS, "chunk_embeddings")
_MODELS = ("embedding_model", "passage_scorer")
_LISTS = ("level", "passage_id", "candidates")
_OF_WALKS = ("walk_trust", "communities")
_EDGE = ("graph", "level", "scope", "source_id")  # text columns of `passage_edges`
_LEAST_RECALL = 0.99  # of approximate neighbours, below which the log warns


def _graph_settings(inputs: Inputs) -> GraphSettings:
    return GraphSettings.model_validate(inputs.settings("lightpal.graph"))


def _candidates(inputs: Inputs) -> Result:
    collection, n = collection_of(inputs), _graph_settings(inputs).n_candidates
    settings = NeighbourSettings.model_validate(inputs.settings("lightpal.neighbours"))
    if not collection.chunk_ids:
        return Result(TABLES["lightpal.candidates"].empty())
    assert collection.embeddings is not None
    among, progress = (collection.embeddings, collection.starts), inputs.progress("chunks compared")
    whole = approximation(len(collection.chunk_ids), settings.exact_up_to, inputs.log)
    basis = Basis.of(collection, is_exact=whole is None)
    updated = updated_candidates(collection, n, basis, Basis.read(inputs))
    if updated is None:
        lists = whole(*among, n, progress) if whole else nearest(*among, n, progress, inputs.engine)
        rows = candidate_rows(collection, *lists)
        updated = Updated(rows, basis, lists[0], len(collection.chunk_ids))
    updated.basis.write(inputs, updated.rows)
    shown: Shown = {"neighbours": "exact", "chunks_compared": updated.n_compared}
    if not updated.basis.is_exact:
        share = round(recall(*among, updated.of_chunks), 4)
        shown |= {"neighbours": "approximate", "recall": share}
        if share < _LEAST_RECALL:
            inputs.log(
                f"lightpal: the recall of the approximate neighbours of '{inputs.corpus}' is "
                f"{share}, less than {_LEAST_RECALL}; to compare all pairs set exact_up_to of "
                "[lightpal.neighbours] in corpus.toml"
            )
    return Result(updated.rows, shown=lambda: {"candidates": shown})


def _context_scores(inputs: Inputs) -> Result:
    scorer = inputs.model("passage_scorer")
    collection = collection_of(inputs, with_vectors=False)
    lists = lists_of(inputs.tables["candidates"].columns(_LISTS), collection)
    earlier = inputs.earlier_rows("lightpal.context_scores", ["passage_scorer"])
    known = earlier.rows_with("passage_id", collection.chunk_ids)
    rows = context_scores(lists, collection, scorer, known)
    n_pairs = sum(near.numbers.size for near in lists.values())
    counts = {"pairs_scored": scorer.n_scored, "pairs": n_pairs}
    return Result(rows, shown=lambda: {"context_scores": counts})


def _passage_edges(inputs: Inputs) -> pa.Table:
    collection = collection_of(inputs, with_vectors=False)
    candidates = inputs.tables["candidates"].columns([*_LISTS, "similarities"])
    similar = lists_of(candidates, collection, with_similarities=True)
    scores = inputs.tables["context_scores"].columns(
        ["level", "passage_id", "candidates_hash", "scores"]
    )
    n_edges = _graph_settings(inputs).n_edges
    return passage_edges(similar, scores_of_lists(scores, similar), collection, n_edges)


def _walk_graphs(inputs: Inputs) -> PassageGraphs:
    """Return the graphs that `passage_walk` follows."""
    edges = inputs.table("passage_edges")
    return PassageGraphs.of(edges, METHODS[PASSAGE_WALK].graph, both_ways=True)


def _communities(inputs: Inputs) -> Result:
    ids = sorted(inputs.column("documents", "document_id"))
    rows = communities(_walk_graphs(inputs).whole("document", ids), ids)
    n = len(pc.unique(rows["community"]))
    return Result(rows, shown=lambda: {"communities": {"communities": n}})


def _walk_trust(inputs: Inputs) -> Result:
    language = inputs.settings("language")
    settings = WalkSettings.model_validate(inputs.settings("lightpal.walk"))
    # what the graph is computed from, besides texts
    _graph_settings(inputs)
    inputs.size("lightpal.passage_edges")
    for model in _MODELS:
        inputs.model(model)
    collection = collection_of(inputs, with_vectors=False, keep_indexes=True)
    keep_index(collection, language)
    collection = with_vectors_of(inputs, collection)
    rows = walk_trust(collection, _walk_graphs(inputs), language, settings.n_probes)
    return Result(rows)


def _rank(inputs: Inputs) -> pa.Table:
    # only tables and settings that a method uses, so that it depends on no others
    is_walk, language = inputs.method == PASSAGE_WALK, inputs.settings("language")
    settings, k = RetrievalSettings(), 1
    if not is_walk:
        settings = RetrievalSettings.model_validate(inputs.settings("lightpal.retrieval"))
        k = _k(inputs)
    read = ("passage_edges", *(_OF_WALKS if is_walk else ()))

    def search() -> PassageSearch:
        return PassageSearch(
            inputs.method,
            collection_of(inputs, keep_indexes=True),
            Tables(**{name: inputs.table(name) for name in read}),
            language,
            settings,
            lambda: inputs.model("passage_scorer"),
            k,
        )

    key = inputs.method, language, repr(settings), k
    loaded = inputs.derived(key, (*_PASSAGES, *read), search)
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return loaded.rank(questions)


def _k(inputs: Inputs) -> int:
    """Return the number of passages in a context."""
    settings = ContextSettings.model_validate(inputs.settings("lightpal.contexts"))
    return settings.k or DEFAULT_K


FAMILY = Family(
    "lightpal",
    tuple(METHODS),
    index=(
        Step(
            _candidates,
            {
                "candidates": "The nearest passages, by exact search up to a number of chunks; "
                "only what a change affects is compared again."
            },
            (*_PASSAGES, "corpus_settings"),
            code_version="3",
        ),
        Step(
            _context_scores,
            {
                "context_scores": "Log probability of the candidate given the passage; chunks with "
                "the same candidates as before are not scored again."
            },
            (*_TEXTS, "candidates", "passage_scorer"),
            checks={"context_scores": [ALL_SCORED]},
        ),
        Step(
            _passage_edges,
            {
                "passage_edges": "From each passage to its best candidates; random walks follow "
                "them from a question's initial passages."
            },
            (*_TEXTS, "candidates", "context_scores", "corpus_settings"),
            code_version="2",
        ),
        Step(
            _communities,
            {
                "communities": "Dense groups of documents in the graph of `passage_walk`, by "
                "Leiden; a document that it follows to is found with the others of its group."
            },
            ("documents", "passage_edges"),
            dictionaries={"passage_edges": _EDGE},
            methods=(PASSAGE_WALK,),
        ),
        Step(
            _walk_trust,
            {
                "walk_trust": "Estimated without labels, with held-out passages as queries; again "
                "when its edges pass a power of two, or models or settings change."
            },
            (*_PASSAGES, "passage_edges", *_MODELS, "corpus_settings"),
            untracked=(*_PASSAGES, "passage_edges"),
            dictionaries={"passage_edges": _EDGE},
            methods=(PASSAGE_WALK,),
        ),
    ),
    studies=("lightpal-hybrid", "lightpal-embedding", "promptrank-embedding"),
    question=(
        Step(
            _rank,
            RANKINGS,
            (*_PASSAGES, "passage_edges", *_OF_WALKS, "query_embeddings", "passage_scorer"),
            code_version="8",
            dictionaries={"passage_edges": _EDGE},
        ),
        Step(lambda inputs: contexts_of(inputs, _k(inputs)), CONTEXTS, ("chunks",), pool=None),
    ),
    default=(PASSAGE_WALK,),
    settings=LightpalSettings,
    views=lambda: VIEWS,
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1430, tokens_out=182, repeated=0.4)],
)
