#!/usr/bin/env bash
# dagster 1.13.27: does `AutomationCondition.eager()` request an asset when its input was
# materialized again with the same data version?
#
# Guess: no. Data versions exist so that an equal result makes nothing stale, and Dagster itself
# does not show the child as out of date.
# Behaviour: yes, every materialization counts. `any_deps_match(data_version_changed())` requests
# the child only for another version.
# Source: https://docs.dagster.io/guides/automate/declarative-automation ("eager" is built from
# `any_deps_updated`, which looks at materializations since the last tick).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dagster==1.13.27
cat > "$folder/try.py" <<'PY'
import dagster as dg

on_version = dg.AutomationCondition.any_deps_match(
    dg.AutomationCondition.data_version_changed()
)


@dg.asset
def table() -> dg.MaterializeResult:
    return dg.MaterializeResult(data_version=dg.DataVersion("v1"))


@dg.asset(deps=[table], automation_condition=dg.AutomationCondition.eager())
def eager() -> None: ...


@dg.asset(deps=[table], automation_condition=on_version)
def by_version() -> None: ...


definitions = dg.Definitions(assets=[table, eager, by_version])
with dg.DagsterInstance.ephemeral() as instance:
    dg.materialize([table, eager, by_version], instance=instance)
    tick = dg.evaluate_automation_conditions(definitions, instance)
    dg.materialize([table], instance=instance)
    tick = dg.evaluate_automation_conditions(definitions, instance, cursor=tick.cursor)
    for asset in (eager, by_version):
        print(asset.key.to_user_string(), tick.get_num_requested(asset.key))
PY
DAGSTER_DISABLE_TELEMETRY=1 "$folder/venv/bin/python" "$folder/try.py" 2> /dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
eager 1
by_version 0
SEEN
echo "as described"
