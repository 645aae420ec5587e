"""A learnt choice of the passages that hold evidence, its ablations and its fine-tuning."""

import pyarrow as pa

from gsum_assets.evidence.contexts import Budget, adaptive_contexts
from gsum_assets.evidence.index import INDEX
from gsum_assets.evidence.learn import PACKAGED
from gsum_assets.evidence.methods import METHODS
from gsum_assets.evidence.network import load_network, unpacked
from gsum_assets.evidence.rank import EvidenceRanking, explained, rank
from gsum_assets.evidence.sentence_index import sentence_index
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings, EvidenceSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.retrieval.words import Words

_PASSAGES = ("documents", "chunks", "chunk_embeddings")


def _rank(inputs: Inputs) -> Result:
    queries, collection = inputs.table("queries"), collection_of(inputs, keep_indexes=True)
    n_chunks = len(collection.chunk_ids)
    settings = CandidateSettings.model_validate(inputs.settings("evidence.candidates"))
    method = METHODS[inputs.method]
    prose = load_network(method.prose) if method.prose else None
    if method.finetuned:
        row = inputs.table("model").to_pylist()[0]
        network = unpacked(row["weights"])
        if row["data"] != PACKAGED:
            prose = None  # a corpus of its own taught the model
    else:
        network = load_network(method.network)
    evidence = rank(
        collection,
        inputs.derived(
            "sentences",
            ("sentences",),
            lambda: sentence_index(inputs.tables["sentences"], n_chunks, inputs.array_cache),
        ),
        Questions.from_tables(queries, inputs.table("query_embeddings")),
        queries["text"].to_pylist(),
        network,
        Words(inputs.settings("language")),
        settings.n,
        prose=prose,
        explains=inputs.explains,
    )
    return Result(evidence.rankings, beside={"probabilities": evidence.probabilities})


def _contexts(inputs: Inputs) -> pa.Table:
    if not METHODS[inputs.method].adaptive:
        return contexts_of(inputs, _k(inputs))
    evidence = EvidenceRanking(inputs.table("rankings"), inputs.table("probabilities"))
    settings = ContextSettings.model_validate(inputs.settings("evidence.contexts"))
    longest = settings.max_tokens or settings.k_max * inputs.settings("chunking")["max_tokens"]
    return adaptive_contexts(
        inputs.table("queries"),
        evidence,
        inputs.tables["chunks"],
        Budget(settings.k_max, longest, _k(inputs), settings.whole_tokens),
    )


def _k(inputs: Inputs) -> int:
    return RetrievalSettings.model_validate(inputs.settings("retrieval")).main_k


FAMILY = Family(
    "evidence",
    tuple(METHODS),
    default=("evidence",),
    index=INDEX,
    studies=(
        "evidence-no-graph",
        "evidence-graph",
        "evidence-fixed-k",
    ),
    question=(
        Step(
            _rank,
            {
                **RANKINGS,
                "probabilities": "All passages that were judged, with the features that speak for "
                "each.",
            },
            (*_PASSAGES, "sentences", "model", "query_embeddings"),
            code_version="7",  # to be raised with new packaged weights
        ),
        Step(_contexts, CONTEXTS, ("chunks",), pool=None, code_version="5"),
    ),
    settings=EvidenceSettings,
    explain=lambda inputs: explained(inputs.table("probabilities"), inputs.table("contexts")),
    k="retrieval.k",
    without_k=[name for name, one in METHODS.items() if one.adaptive],
    weighted=True,
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1750, tokens_out=181, repeated=0.65)],
)
