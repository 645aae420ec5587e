#!/usr/bin/env bash
# dagster 1.13.27: may two processes open a new DAGSTER_HOME, with the default SQLite storage, at once?
#
# Guess: yes. SQLite locks its file, and Dagster's CLI, webserver and daemon are separate processes
# that are often started together.
# Behaviour: each finds no revision and stamps the database; both stamps stay. From then on every
# process that opens this home fails with alembic's CommandError, also long after the two have ended.
# Source: dagster/_core/storage/runs/sqlite/sqlite_run_storage.py (from_local: look, then stamp) and
# dagster/_core/storage/sql.py, whose lock is one of threads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dagster==1.13.27
cat > "$folder/try.py" <<'PY'
import os
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg

if len(sys.argv) == 3:  # one of the processes: import, wait for the moment, open
    while time.time() < float(sys.argv[2]):
        pass
    dg.DagsterInstance.from_config(sys.argv[1]).dispose()
    sys.exit()
folder = Path(sys.argv[1])
for number in range(20):
    home = folder / f"home{number}"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    at = str(time.time() + 8)
    both = [subprocess.Popen([sys.executable, __file__, str(home), at]) for _ in range(2)]
    for process in both:
        process.wait()
    try:
        dg.DagsterInstance.from_config(str(home)).dispose()
    except Exception as error:
        print(type(error).__name__, "more than one head" in str(error))
        break
else:
    print("never in 20 homes")
PY
DAGSTER_DISABLE_TELEMETRY=1 "$folder/venv/bin/python" "$folder/try.py" "$folder" 2> /dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
CommandError True
SEEN
echo "as described"
