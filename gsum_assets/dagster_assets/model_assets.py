"""Models as observed source assets: a changed model makes its descendants out of date."""

import dagster as dg

from gsum_assets.dagster_assets.presentation import kind_tags
from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.resources import MODELS
from gsum_resources.models.by_work import WORK
from gsum_resources.store.content_hash import hash_texts

_MEANING = {
    "language_model": "Writes answers, questions and extractions. Observed: its version is "
    "backend, name and settings",
    "judge_model": "Judges answers; by default the language model itself. Observed: its "
    "version is backend, name and settings",
    "embedding_model": "Embeds chunks and questions. Observed: its version is weights, precision, "
    "pooling and window",
    "passage_scorer": "Scores how well one passage predicts another. Observed: its version is "
    "backend, weights and settings",
}
_SETTINGS = {
    "language_model": "[llm] in gsum.toml, [models.*] for kinds of work",
    "judge_model": "[judge] in gsum.toml",
    "embedding_model": "[embedding] in gsum.toml",
    "passage_scorer": "[scorer] in gsum.toml",
}


def _model_asset(name: str, meaning: str) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name,
        description=f"{meaning}.",
        group_name="models",
        io_manager_key=MODELS,
        metadata={"settings": _SETTINGS[name]},
        tags=kind_tags("source"),
        required_resource_keys={MODELS},
    )
    @explained()
    def observe(context: dg.OpExecutionContext) -> dg.ObserveResult:
        models: ModelsIO = context.resources.gsum_models
        versions = {name: models.usual.version(name)}
        if name == "language_model":  # also models of single kinds of work
            versions |= {work: models.usual.version(work) for work in WORK}
            versions = {
                key: version
                for key, version in versions.items()
                if key == name or version != versions[name]
            }
        return dg.ObserveResult(
            data_version=dg.DataVersion(hash_texts(list(versions.values()))),
            metadata={
                "identity" if key == name else key: version for key, version in versions.items()
            },
        )

    return observe


model_assets = [_model_asset(name, meaning) for name, meaning in _MEANING.items()]
