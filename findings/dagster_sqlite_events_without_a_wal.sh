#!/usr/bin/env bash
# dagster 1.13.27: does the SQLite event log, which is in WAL mode, append each event to the log of
# SQLite (WAL), so that an event costs one small write?
#
# Guess: yes, that is what WAL mode is for, and the instance lives as long as the run.
# Behaviour: no. The storage opens a connection for each event and closes it (`NullPool`). As it is
# the only one, SQLite then writes the log back into the database, waits for the disk and deletes
# the log, for every event, and twice for events of assets (the run's file and `index.db`). Any
# other open connection to these files, even an idle one, prevents that, and saves up to half of
# the time of events, by how fast the disk is.
# Source: https://docs.dagster.io/deployment/dagster-instance ("SqliteEventLogStorage", no word on
# it), and https://www.sqlite.org/wal.html, 2.1: "When the last connection to a particular database
# is closing, that connection will attempt a checkpoint".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dagster==1.13.27
cat > "$folder/try.py" <<'PY'
import logging
import sqlite3
import sys
import time
import uuid
from pathlib import Path

import dagster as dg

EVENTS = 100
logging.disable(logging.CRITICAL)


@dg.asset
def table():  # noqa: ANN201 - events and an output
    for i in range(EVENTS):
        yield dg.AssetObservation("table", metadata={"i": i})
    yield dg.Output(1)


def run(instance: dg.DagsterInstance, held: bool) -> tuple[float, bool]:
    """Return the seconds of a run, and whether it leaves the log of its events."""
    storage, run_id = instance.event_log_storage, str(uuid.uuid4())
    with storage.run_connection(run_id) as connection:  # creates the file
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    paths = [Path(storage.path_for_shard(shard)) for shard in ("index", run_id)]
    idle = [sqlite3.connect(path) for path in paths if held]
    for connection in idle:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    began = time.perf_counter()
    job.execute_in_process(instance=instance, run_id=run_id)
    return time.perf_counter() - began, Path(f"{paths[1]}-wal").exists()


job = dg.Definitions(assets=[table], jobs=[dg.define_asset_job("job")]).resolve_job_def("job")
with dg.DagsterInstance.local_temp(sys.argv[1]) as instance:
    run(instance, held=False)  # modules are loaded
    (plain, log), (beside, held_log) = run(instance, held=False), run(instance, held=True)
    print(f"log after a run: {log}")
    print(f"log after a run beside an idle connection: {held_log}")
    print(f"{plain:.1f} s for {EVENTS} events, {beside:.1f} s beside it", file=sys.stderr)
PY
DAGSTER_DISABLE_TELEMETRY=1 "$folder/venv/bin/python" -W ignore "$folder/try.py" "$folder" \
  2> "$folder/times" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
log after a run: False
log after a run beside an idle connection: True
SEEN
tail -1 "$folder/times"
echo "as described"
