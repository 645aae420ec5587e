"""Calls an asset with what it reads, as Dagster does, but without Dagster: a run in no time.

What is read and written goes through gsum's own doors (warehouse, models, settings), so that
provenance, memos and ledgers are those of a run.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow as pa
from dagster._core.execution.context.compute import current_execution_context

from gsum_assets.automation.staleness import Node
from gsum_assets.corpus import observe
from gsum_assets.dagster_assets.partitions import method_key, partitions_of
from gsum_assets.definitions import Pipeline
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.resources import MODELS, SETTINGS, WAREHOUSE
from gsum_resources.dagster_io.settings_io import SettingsIO
from gsum_resources.store.lineage import feeds
from gsum_resources.store.parquet_store import Partition

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False
_RUN = "by-hand"


def observe_folder(pipeline: Pipeline, corpus: str) -> None:
    """Note what lies in a corpus folder now."""
    observe.documents(pipeline.warehouse, corpus, _LOG)
    observe.queries(pipeline.warehouse, corpus)
    observe.graph(pipeline.warehouse, corpus)


class Workshop:
    """Materializes assets of a pipeline, one at a time.

    Attributes
    ----------
    nodes : the materializable assets, as the automation conditions see them.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._warehouse = pipeline.warehouse
        self._buckets = pipeline.buckets
        self._graph = pipeline.definitions.resolve_asset_graph()
        self.nodes: dict[dg.AssetKey, Node] = dict(pipeline.new_snapshot(None).nodes)  # type: ignore[arg-type]
        reads = pipeline.warehouse.reads
        self._doors: dict[str, Any] = {
            MODELS: ModelsIO(pipeline.models, reads, TABLES["embedding_calls"]),
            SETTINGS: SettingsIO(pipeline.section, reads),
            WAREHOUSE: pipeline.warehouse,
        }

    def assets(self) -> Iterator[dg.AssetsDefinition]:
        """The materializable assets, upstream ones first; those materialized together once."""
        done: set[dg.AssetKey] = set()
        for key in self._graph.toposorted_asset_keys:
            if key in self.nodes and key not in done:
                asset = self._graph.get(key).assets_def
                done |= asset.keys
                yield asset

    def materialize(self, asset: dg.AssetsDefinition, partitions: Sequence[Partition]) -> None:
        """Make all outputs of an asset for some partitions of one corpus."""
        keys = [_key(partition) for partition in partitions]
        step = SimpleNamespace(
            run_id=_RUN,
            step=SimpleNamespace(key=asset.op.name),
            partition_key_range=SimpleNamespace(start=keys[0]),
            job_def=SimpleNamespace(asset_layer=self._graph),
            output_capture=None,
            op_config={},
            add_asset_metadata=lambda *_: None,
        )
        for noted in (r := self._warehouse.reads).tables, r.partitions, r.others, r.failures:
            noted.pop((_RUN, asset.op.name), None)  # type: ignore[arg-type] - what it read last time
        inputs = {
            name: self._read(asset, name, key, partitions, step)
            for name, key in asset.keys_by_input_name.items()
            if not _is_in_the_graph_alone(asset.op, name)
        }
        outputs = self._called(asset, keys, inputs, step)
        for name, key in asset.keys_by_output_name.items():
            target = SimpleNamespace(
                asset_key=key, asset_partition_keys=keys, step_context=step, run_id=_RUN
            )
            self._warehouse.handle_output(target, outputs[name])  # type: ignore[arg-type]

    def _called(
        self,
        asset: dg.AssetsDefinition,
        keys: Sequence[str],
        inputs: dict[str, Any],
        step: SimpleNamespace,
    ) -> dict[str, Any]:
        """Return the outputs of the asset's function by name."""
        context = SimpleNamespace(
            partition_key=keys[0],
            partition_keys=keys,
            asset_key=min(asset.keys),
            step_context=step,
            log=_LOG,
            run=SimpleNamespace(tags={}),
            selected_asset_keys=set(asset.keys),
            add_asset_metadata=lambda *_, **__: None,
            selected_output_names=list(asset.keys_by_output_name),
            resources=SimpleNamespace(**self._doors),
            op_execution_context=SimpleNamespace(
                selected_output_names=list(asset.keys_by_output_name), op_config={}
            ),
        )
        function: Any = asset.op.compute_fn
        with _current(context):
            results = function.decorated_fn(*[context] * function.has_context_arg(), **inputs)
            if isinstance(results, pa.Table):
                return dict.fromkeys(asset.keys_by_output_name, results)
            return {output.output_name: output.value for output in results}

    def _read(
        self,
        asset: dg.AssetsDefinition,
        name: str,
        key: dg.AssetKey,
        partitions: Sequence[Partition],
        step: SimpleNamespace,
    ) -> object:
        """Return one input: the upstream partitions of those to materialize."""
        source = self._graph.get(key)
        corpus = partitions[0].corpus
        above = partitions_of(source.partitions_def, corpus, self._buckets.of(corpus))
        context = SimpleNamespace(
            asset_key=key,
            asset_partition_keys=[_key(a) for a in above if any(feeds(a, p) for p in partitions)],
            definition_metadata=_inputs_of(asset.op)[name].metadata,
            step_context=step,
            log=None,
        )
        return self._doors[source.io_manager_key].load_input(context)


@cache
def _inputs_of(op: dg.OpDefinition) -> Mapping[str, dg.In]:
    """Dagster rebuilds it at every access."""
    return op.ins


def _is_in_the_graph_alone(op: dg.OpDefinition, name: str) -> bool:
    """Whether an input is an edge of the lineage graph that nothing is read through."""
    kind = _inputs_of(op)[name].dagster_type
    return isinstance(kind, dg.DagsterType) and kind.is_nothing


@contextmanager
def _current(context: SimpleNamespace) -> Iterator[None]:
    """Set `context` as the result of `dg.AssetExecutionContext.get`."""
    token = current_execution_context.set(context)  # type: ignore[arg-type]
    try:
        yield
    finally:
        current_execution_context.reset(token)


def _key(partition: Partition) -> str:
    """Dagster's key of a partition."""
    if partition.bucket is not None:
        return dg.MultiPartitionKey({"corpus": partition.corpus, "bucket": partition.bucket})
    return partition.corpus if partition.method is None else method_key(partition)
