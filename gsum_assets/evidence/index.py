"""Index assets of `evidence`: sentences with their vectors, and the network of a corpus."""

import pyarrow as pa

from gsum_assets.corpus.index import with_earlier
from gsum_assets.evidence.learn import (
    MOST_QUESTIONS,
    examples_of,
    learnt,
    marked_questions,
    model_rows,
)
from gsum_assets.evidence.methods import METHODS
from gsum_assets.evidence.network import load_network
from gsum_assets.evidence.sentence_index import sentence_rows
from gsum_assets.evidence.settings import CandidateSettings, TrainingSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words

_PASSAGES = ("documents", "chunks", "chunk_embeddings")
_TRAINING = (*_PASSAGES, "sentences", "queries", "query_embeddings")


def _sentences(inputs: Inputs) -> pa.Table:
    chunks, embedder = inputs.table("chunks"), inputs.model("embedding_model")
    return with_earlier(
        inputs, "evidence.sentences", chunks, lambda new: sentence_rows(new, embedder)
    )


def _model(inputs: Inputs) -> Result:
    method = METHODS[inputs.method]
    if not method.finetuned:
        log = TABLES["evidence.training_log"].empty()
        return Result(TABLES["evidence.model"].empty(), beside={"training_log": log})
    settings = TrainingSettings.model_validate(inputs.settings("evidence.training"))
    queries, embeddings = inputs.table("queries"), inputs.table("query_embeddings")
    lessons = marked_questions(queries, embeddings, settings.split, MOST_QUESTIONS)
    collection = Collection.from_tables(*map(inputs.table, _PASSAGES))
    examples = examples_of(
        lessons,
        collection,
        inputs.table("sentences"),
        Words(inputs.settings("language")),
        CandidateSettings.model_validate(inputs.settings("evidence.candidates")).n,
    )
    learning = learnt(examples, load_network(method.network), settings)
    inputs.log(f"{inputs.step} {inputs.method}: {learning.summary}")
    embedder = inputs.model("embedding_model").identity
    model, log = model_rows(learning, lessons.documents(collection), settings, embedder)
    return Result(
        model,
        beside={"training_log": log},
        shown=lambda: {"model": {"training": learning.summary}},
    )


INDEX = (
    Step(
        _sentences,
        {
            "sentences": "Vectors of sentences, which show where in a passage the answer is; a "
            "sentence that was embedded before is not embedded again."
        },
        ("chunks", "embedding_model"),
        code_version="2",
        costs=[Cost("passage", "embedding_model", requests=15.7, tokens_in=20)],
    ),
    Step(
        _model,
        {
            "model": "The packaged network, trained further on questions of the corpus for "
            "`evidence-finetuned`; no row for other methods. New documents do not retrain it.",
            "training_log": "Loss and average precision on held-out documents of each epoch.",
        },
        (*_TRAINING, "corpus_settings", "embedding_model"),
        code_version="3",  # to be raised with new packaged weights, which a model starts from
        untracked=_TRAINING,  # new documents do not retrain the model
        trains=True,
    ),
)
