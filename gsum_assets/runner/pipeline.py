"""Everything that belongs to one home, which `definitions.py` connects."""

from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.automation.acceptance import ModelChanges
from gsum_assets.automation.forget import Forgetting
from gsum_assets.automation.reconcile import Reconciler
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.automation.withdraw import Withdrawal
from gsum_assets.corpus.buckets import Buckets
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.state.requests import Requests


@dataclass(frozen=True)
class Pipeline(Workspace):
    """Everything that belongs to one home.

    `buckets` has the number of buckets of each corpus, `new_snapshot` returns what is due now,
    `forgetting` removes the leftovers of deleted documents, `reconciler` deleted corpora,
    `withdrawal` methods that are no longer wanted, `model_changes` those that wait to be accepted.
    """

    warehouse: WarehouseIO
    requests: Requests
    buckets: Buckets
    new_snapshot: Callable[[dg.DagsterInstance], Snapshot]
    forgetting: Forgetting
    reconciler: Reconciler
    withdrawal: Withdrawal
    model_changes: ModelChanges
    definitions: dg.Definitions
