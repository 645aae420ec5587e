"""Index assets of `evidence`: sentences with their vectors, and the network of a corpus."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.index import with_earlier
from gsum_assets.evidence.learn import (
    examples_of,
    learnt,
    marked_questions,
    model_rows,
    simulated_questions,
)
from gsum_assets.evidence.methods import METHODS
from gsum_assets.evidence.sentences import sentence_rows
from gsum_assets.evidence.settings import CandidateSettings, TrainingSettings
from gsum_assets.evidence.weights import load_network
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words

_TRAINING = (
    *("documents", "chunks", "chunk_embeddings", "sentences"),
    *("queries", "query_embeddings"),
)


_SIMULATED = "gor/simulated_queries"


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
    queries, embedder = inputs.table("queries"), inputs.model("embedding_model")
    lessons = marked_questions(queries, inputs.table("query_embeddings"), settings.split)
    if lessons is None:
        chunks, simulated = inputs.table("chunks"), _simulated(inputs, settings)
        lessons = simulated_questions(simulated, queries, chunks, settings.split, embedder)
    lessons = lessons.at_most(settings.most_questions)
    collection = Collection.from_tables(*map(inputs.table, _TRAINING[:3]))
    examples = examples_of(
        lessons,
        collection,
        inputs.table("sentences"),
        Words(inputs.settings("language")),
        CandidateSettings.model_validate(inputs.settings("evidence.candidates")).n,
    )
    learning = learnt(examples, load_network(method.weights), settings, lessons.data)
    inputs.log(f"{inputs.step} {inputs.method}: {learning.summary}")
    model, log = model_rows(learning, lessons.documents(collection), settings, embedder.identity)

    def shown() -> Mapping[str, Any]:
        return {"model": {"training": learning.summary}}

    return Result(model, beside={"training_log": log}, shown=shown)


def _simulated(inputs: Inputs, settings: TrainingSettings) -> pa.Table:
    """Return the questions that `gor` simulated about the corpus, if it was requested.

    They are optional: the packaged methods need not wait for the language model. Their absence is
    recorded, so that the first ones train a network; later ones do not retrain it.
    """
    if not settings.simulated:
        return TABLES["gor.simulated_queries"].empty()
    rows = inputs.table(_SIMULATED)
    if not rows.num_rows:
        inputs.count("gor.simulated_queries")
    return rows


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
        (*_TRAINING, _SIMULATED, "corpus_settings", "embedding_model"),
        code_version="3",  # to be raised with new packaged weights, which a model starts from
        untracked=_TRAINING,  # new documents do not retrain the model
        optional=(_SIMULATED,),
        trains=True,
    ),
)
