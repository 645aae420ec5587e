"""Assets that change from outside: the folder of a corpus, its settings, and the models."""

from collections.abc import Iterator, Sequence

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus import observe
from gsum_assets.dagster_assets.metadata import described, of_table
from gsum_assets.dagster_assets.partitions import GSUM, corpora
from gsum_assets.dagster_assets.run_resource import HomeOfRun
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.pipeline.step import MODELS
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.dagster_io.failure import explained
from gsum_resources.models.by_work import WORK
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.input_key import section_version

_VERSION = "dagster/data_version"
_PURPOSE = {
    "source_documents": "The files and lines of the corpus folder, as the last run found them.",
    "source_queries": "The file of questions in the corpus folder.",
    "source_graph": "The graph in the corpus folder. If there is any, entities and relationships "
    "are read from it instead of being extracted.",
}
_MODELS = {
    "language_model": "Writes answers, questions and extractions: [llm] in gsum.toml, [models.*] "
    "for kinds of work. Its version is backend, name and settings.",
    "judge_model": "Judges answers; by default the language model itself: [judge] in gsum.toml. "
    "Its version is backend, name and settings.",
    "embedding_model": "Embeds chunks and questions: [embedding] in gsum.toml. Its version is "
    "weights, precision, pooling and window.",
    "passage_scorer": "Scores how well one passage predicts another: [scorer] in gsum.toml. Its "
    "version is backend, weights and settings.",
}
_SETTINGS = "Settings in `corpus.toml`; the lineage of a file names the sections that it read."


def sources_asset(upstream: Sequence[dg.AssetKey] = ()) -> dg.AssetsDefinition:
    """Return the first step of a run: it looks at the folder, the settings and the models.

    Parameter `upstream`: assets of others that write the folders of documents.
    """

    @dg.multi_asset(
        name="sources",
        specs=[
            dg.AssetSpec(
                name,
                deps=upstream if name == "source_documents" else (),
                description=described(TABLES[name], purpose),
                group_name="corpus",
                metadata=of_table(TABLES[name]),
                kinds={"file", "parquet", "duckdb"},
            )
            for name, purpose in _PURPOSE.items()
        ],
        partitions_def=corpora,
        required_resource_keys={GSUM},
    )
    def sources(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
        home: HomeOfRun = context.resources.gsum
        workspace, corpus = home.workspace, context.partition_key
        with explained():
            Deletions(workspace.store).observe(corpus)  # before `documents` is written again
            versions = observe.sources(workspace.store, workspace.home.corpora, corpus)
            observations = observed(workspace, corpus)
        for name, (version, n_rows) in versions.items():
            yield dg.MaterializeResult(
                asset_key=name,
                data_version=dg.DataVersion(version),
                metadata={"dagster/partition_row_count": n_rows},
            )
        for observation in observations:
            context.log_event(observation)

    return sources


def observed(
    workspace: Workspace, corpus: str
) -> list[dg.AssetObservation | dg.AssetMaterialization]:
    """Return the present versions of the settings of a corpus and of the models.

    Those of the models are materializations: of an external asset without partitions, Dagster
    compares the version that a step has read with no observation, and shows the step as stale.
    Raise `CorpusError` if the settings cannot be read.
    """
    settings = workspace.section(corpus, "")
    version = {_VERSION: section_version(settings)}
    shown = {"settings": dg.MetadataValue.json(settings)}
    seen: list[dg.AssetObservation | dg.AssetMaterialization] = [
        dg.AssetObservation("corpus_settings", partition=corpus, metadata=shown, tags=version)
    ]
    models = workspace.models
    for name in MODELS:
        works = (name, *WORK) if name == "language_model" else (name,)
        versions = {work: models.version(work) for work in works}
        different = {w: v for w, v in versions.items() if w == name or v != versions[name]}
        tags = {_VERSION: hash_texts(list(different.values()))}
        seen.append(dg.AssetMaterialization(name, metadata=different, tags=tags))
    return seen


external_assets = [
    dg.AssetSpec(
        "corpus_settings",
        description=_SETTINGS,
        group_name="corpus",
        partitions_def=corpora,
        kinds={"file"},
        metadata={"file": "corpora/<corpus>/corpus.toml"},
    ),
    *(
        dg.AssetSpec(name, description=meaning, group_name="models", kinds={"source"})
        for name, meaning in _MODELS.items()
    ),
]
"""The settings of corpora and the models: each run observes their versions."""
