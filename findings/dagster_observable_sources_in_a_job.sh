#!/usr/bin/env bash
# dagster 1.13.27: which assets does a job over `AssetSelection.all()` take?
#
# Guess: every asset of the definitions; or, since an observable source asset cannot be
# materialized, an error that sources and materializable assets do not mix in one job.
# Behaviour: observable source assets are left out without a word, so that a run of "everything"
# observes nothing; with `include_sources=True` one run both observes and materializes.
# Source: the docstring of `AssetSelection.all` names only the parameter, "If True, then include all
# external assets"; dagster/_core/definitions/asset_selection.py, AllSelection.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dagster==1.13.27
cat > "$folder/try.py" <<'PY'
import warnings

import dagster as dg

warnings.simplefilter("ignore")


@dg.observable_source_asset
def model():
    return dg.DataVersion("1")


@dg.asset(deps=[model])
def answers() -> None: ...


for name, selection in {
    "all()": dg.AssetSelection.all(),
    "all(include_sources=True)": dg.AssetSelection.all(include_sources=True),
}.items():
    job = dg.define_asset_job("job", selection)
    definitions = dg.Definitions(assets=[model, answers], jobs=[job])
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance)
    kinds = "ASSET_OBSERVATION", "ASSET_MATERIALIZATION"
    events = [e for e in result.all_events if e.event_type_value in kinds]
    print(name, sorted(f"{e.event_type_value} {e.asset_key.to_user_string()}" for e in events))
PY
DAGSTER_DISABLE_TELEMETRY=1 "$folder/venv/bin/python" "$folder/try.py" 2> /dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
all() ['ASSET_MATERIALIZATION answers']
all(include_sources=True) ['ASSET_MATERIALIZATION answers', 'ASSET_OBSERVATION model']
SEEN
echo "as described"
