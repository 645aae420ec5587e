#!/usr/bin/env bash
# dagster 1.13.27: what is left of a materialization when its run, or its partition, is deleted?
#
# Guess: deleting an old run frees space and keeps what the assets are (the latest materialization
# is stored with the asset); deleting a dynamic partition removes its materializations.
# Behaviour: it is the other way round. Without the run the partition counts as never materialized,
# while `get_latest_materialization_event` still returns the event of that run. A dynamic partition
# that was deleted and added again under the same name counts as materialized from the start.
# Source: dagster/_core/storage/event_log/sql_event_log.py: partitions are read from the events of
# runs, the latest event from a copy in the table of asset keys.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dagster==1.13.27
cat > "$folder/try.py" <<'PY'
import tempfile

import dagster as dg

corpora = dg.DynamicPartitionsDefinition(name="corpora")


@dg.asset(partitions_def=corpora)
def chunks() -> None: ...


definitions = dg.Definitions(assets=[chunks], jobs=[dg.define_asset_job("index", [chunks])])
key = dg.AssetKey("chunks")
with tempfile.TemporaryDirectory() as home, dg.DagsterInstance.local_temp(home) as instance:
    instance.add_dynamic_partitions("corpora", ["a"])
    job = definitions.resolve_job_def("index")
    run = job.execute_in_process(instance=instance, partition_key="a").run_id
    print("materialized", sorted(instance.get_materialized_partitions(key)))
    instance.delete_run(run)
    latest = instance.get_latest_materialization_event(key)
    print("run deleted", sorted(instance.get_materialized_partitions(key)), latest.run_id == run)
    job.execute_in_process(instance=instance, partition_key="a")
    instance.delete_dynamic_partition("corpora", "a")
    instance.add_dynamic_partitions("corpora", ["a"])
    print("partition deleted, added again", sorted(instance.get_materialized_partitions(key)))
PY
DAGSTER_DISABLE_TELEMETRY=1 "$folder/venv/bin/python" "$folder/try.py" 2> /dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
materialized ['a']
run deleted [] True
partition deleted, added again ['a']
SEEN
echo "as described"
