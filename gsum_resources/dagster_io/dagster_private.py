"""Private names of Dagster 1.13 that gsum uses; no other module imports them.

`pyproject.toml` admits Dagster 1.13 alone; check this list when it is upgraded. Modules that
`import dagster` does not load (SQLAlchemy's migrations, backfills: half a second) are loaded on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# `dg.evaluate_automation_conditions` builds a cursor, which takes two thirds of the time
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor as AssetDaemonCursor

# type returned by the public `Definitions.resolve_asset_graph`
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph as AssetGraph

# `dg.define_asset_job` rejects assets of different partitions, even for observation
from dagster._core.definitions.assets.job.asset_job import build_asset_job as build_asset_job
from dagster._core.definitions.assets.job.asset_job import (
    get_asset_graph_for_job as get_asset_graph_for_job,
)

# as for AssetDaemonCursor
from dagster._core.definitions.declarative_automation.automation_condition_evaluator import (
    AutomationConditionEvaluator as AutomationConditionEvaluator,
)

# one partition of one asset, argument of `build_run_requests_with_backfill_policies`
from dagster._core.definitions.events import AssetKeyPartitionKey as AssetKeyPartitionKey

# `JobDefinition.execute_in_process` describes the whole job anew for each run
from dagster._core.definitions.job_base import InMemoryJob as InMemoryJob

# type returned by the public `dg.define_asset_job`
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition as UnresolvedAssetJobDefinition,
)

# as for InMemoryJob
from dagster._core.execution.execute_in_process import (
    core_execute_in_process as core_execute_in_process,
)

if TYPE_CHECKING:
    from dagster._cli.proxy_server_manager import ProxyServerManager as ProxyServerManager
    from dagster._core.definitions.automation_tick_evaluation_context import (
        build_run_requests_with_backfill_policies as build_run_requests_with_backfill_policies,
    )
    from dagster._core.execution.backfill import BulkActionsFilter as BulkActionsFilter
    from dagster._core.execution.backfill import BulkActionStatus as BulkActionStatus
    from dagster._core.storage.event_log.sql_event_log import (
        SqlEventLogStorage as SqlEventLogStorage,
    )
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import (
        SqliteEventLogStorage as SqliteEventLogStorage,
    )
    from dagster._core.storage.local_compute_log_manager import (
        LocalComputeLogManager as LocalComputeLogManager,
    )
    from dagster._core.storage.noop_compute_log_manager import (
        NoOpComputeLogManager as NoOpComputeLogManager,
    )
    from dagster._core.storage.runs.sql_run_storage import SqlRunStorage as SqlRunStorage
    from dagster._core.storage.runs.sqlite import SqliteRunStorage as SqliteRunStorage
    from dagster._core.storage.schedules.sql_schedule_storage import (
        SqlScheduleStorage as SqlScheduleStorage,
    )
    from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import (
        SqliteScheduleStorage as SqliteScheduleStorage,
    )
    from dagster._core.storage.sqlite_storage import DagsterSqliteStorage as DagsterSqliteStorage
    from dagster._core.workspace.load_target import ModuleTarget as ModuleTarget

_CORE, _STORAGE = "dagster._core", "dagster._core.storage"
DAEMON = "dagster._daemon"
"""Module of the daemon: run by its name, it needs no script beside the interpreter."""
STEPS_LOGGER = "dagster._core.execution.plan.active"
"""Logger that warns of a blocking check without a result; Dagster has no setting for this."""

_LOADED_LATE = {
    # the runs that the daemon starts for requested partitions;
    # `dg.evaluate_automation_conditions` does not create them
    "build_run_requests_with_backfill_policies": (
        f"{_CORE}.definitions.automation_tick_evaluation_context"
    ),
    # arguments and results of the public `DagsterInstance.get_backfills`, and their states
    "BulkActionsFilter": f"{_CORE}.execution.backfill",
    "BulkActionStatus": f"{_CORE}.execution.backfill",
    # the storage whose engines `event_log.py` keeps open; Dagster names it in configuration only
    "SqliteEventLogStorage": f"{_STORAGE}.event_log.sqlite.sqlite_event_log",
    "SqliteRunStorage": f"{_STORAGE}.runs.sqlite",
    "SqliteScheduleStorage": f"{_STORAGE}.schedules.sqlite.sqlite_schedule_storage",
    "DagsterSqliteStorage": f"{_STORAGE}.sqlite_storage",
    # the storages over a database and the logs of steps in files, which `gsum forget` searches
    "SqlEventLogStorage": f"{_STORAGE}.event_log.sql_event_log",
    "SqlRunStorage": f"{_STORAGE}.runs.sql_run_storage",
    "SqlScheduleStorage": f"{_STORAGE}.schedules.sql_schedule_storage",
    "LocalComputeLogManager": f"{_STORAGE}.local_compute_log_manager",
    "NoOpComputeLogManager": f"{_STORAGE}.noop_compute_log_manager",
    # the code server of `dagster dev`, which reads what lies in the present folder
    "ProxyServerManager": "dagster._cli.proxy_server_manager",
    "ModuleTarget": f"{_CORE}.workspace.load_target",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_LATE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_LOADED_LATE[name]), name)
