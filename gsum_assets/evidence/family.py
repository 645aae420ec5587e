"""A learnt choice of the passages that hold evidence, and its ablations."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.corpus.index import with_earlier
from gsum_assets.evidence.contexts import Budget, adaptive_contexts
from gsum_assets.evidence.network import load_network
from gsum_assets.evidence.rank import EvidenceRanking, explained, rank
from gsum_assets.evidence.sentence_index import sentence_index, sentence_rows
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings, EvidenceSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.retrieval.words import Words


@dataclass(frozen=True)
class Method:
    """The parts that a method has.

    Attributes
    ----------
    network : name of the packaged network (`network.load_network`).
    prose : name of the network for prose, where neighbours are no sign of evidence; None:
        `network`.
    adaptive : whether the number of passages has the largest expected F1; otherwise it is k of
        `[retrieval]`.
    """

    network: str = "graph"
    prose: str | None = None
    adaptive: bool = True


METHODS: Mapping[str, Method] = {
    "evidence": Method(prose="own"),
    "evidence-no-graph": Method("own"),
    "evidence-graph": Method(),
    "evidence-fixed-k": Method(prose="own", adaptive=False),
}
_PASSAGES = ("documents", "chunks", "chunk_embeddings")


def _sentences(inputs: Inputs) -> pa.Table:
    chunks, embedder = inputs.table("chunks"), inputs.model("embedding_model")
    return with_earlier(
        inputs, "evidence.sentences", chunks, lambda new: sentence_rows(new, embedder)
    )


def _rank(inputs: Inputs) -> Result:
    queries, collection = inputs.table("queries"), collection_of(inputs, keep_indexes=True)
    n_chunks = len(collection.chunk_ids)
    candidates = CandidateSettings.model_validate(inputs.settings("evidence.candidates"))
    method = METHODS[inputs.method]
    evidence = rank(
        collection,
        inputs.derived(
            "sentences",
            ("sentences",),
            lambda: sentence_index(inputs.tables["sentences"], n_chunks, inputs.array_cache),
        ),
        Questions.from_tables(queries, inputs.table("query_embeddings")),
        queries["text"].to_pylist(),
        load_network(method.network),
        Words(inputs.settings("language")),
        candidates.n,
        prose=load_network(method.prose) if method.prose else None,
        explains=inputs.explains,
    )
    return Result(evidence.rankings, beside={"probabilities": evidence.probabilities})


def _contexts(inputs: Inputs) -> pa.Table:
    k = RetrievalSettings.model_validate(inputs.settings("retrieval")).k
    if not METHODS[inputs.method].adaptive:
        return contexts_of(inputs, k)
    evidence = EvidenceRanking(inputs.table("rankings"), inputs.table("probabilities"))
    settings = ContextSettings.model_validate(inputs.settings("evidence.contexts"))
    longest = settings.max_tokens or settings.k_max * inputs.settings("chunking")["max_tokens"]
    budget = Budget(settings.k_max, longest, k, settings.whole_tokens)
    return adaptive_contexts(inputs.table("queries"), evidence, inputs.tables["chunks"], budget)


FAMILY = Family(
    "evidence",
    tuple(METHODS),
    default=("evidence",),
    index=(
        Step(
            _sentences,
            {
                "sentences": "Vectors of sentences, which show where in a passage the answer is; "
                "a sentence that was embedded before is not embedded again."
            },
            ("chunks", "embedding_model"),
            code_version="4",
            costs=[Cost("passage", "embedding_model", requests=15.7, tokens_in=20)],
        ),
    ),
    studies=("evidence-no-graph", "evidence-graph", "evidence-fixed-k"),
    question=(
        Step(
            _rank,
            {
                **RANKINGS,
                "probabilities": "All passages that were judged, with the features that speak for "
                "each.",
            },
            (*_PASSAGES, "sentences", "query_embeddings"),
            code_version="7",  # to be raised with new packaged weights
        ),
        Step(_contexts, CONTEXTS, ("chunks",), pool=None, code_version="6"),
    ),
    settings=EvidenceSettings,
    explain=lambda inputs: explained(inputs.table("probabilities"), inputs.table("contexts")),
    weighted=True,
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1750, tokens_out=181, repeated=0.65)],
)
