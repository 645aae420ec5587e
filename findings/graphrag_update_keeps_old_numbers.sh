#!/usr/bin/env bash
# graphrag 3.3.0: after `graphrag update`, which entity does "[Data: Entities (0)]" in a new report name?
#
# Guess: the row of output/entities.parquet with human_readable_id 0, as in an index of one run, and
# each of a community's entity_ids is the id of a row there.
# Behaviour: the entities of the update get new numbers, and those of a known title the old id, while
# its communities keep their entity_ids and its reports their text. So "Entities (0)" of a new report
# is another entity, without an error, and an id of a merged entity is in no row. The numbers and ids
# hold in update_output/*/delta.
# Source: graphrag/index/update/entities.py (`_group_and_resolve_entities` numbers from the largest
# number on and returns a mapping of ids, which only update_text_units.py applies) and
# communities.py (`_update_and_merge_communities`, `_update_and_merge_community_reports`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check graphrag==3.3.0
cat > "$folder/try.py" <<'PY'
import pandas as pd
from graphrag.data_model import schemas
from graphrag.index.update.communities import (
    _update_and_merge_communities,
    _update_and_merge_community_reports,
)
from graphrag.index.update.entities import _group_and_resolve_entities


def table(columns, *rows):
    return pd.DataFrame([{**dict.fromkeys(columns), **row} for row in rows])


def entities(*titles, prefix):
    rows = (
        {"id": f"{prefix}-{title}", "human_readable_id": n, "title": title, "type": "PERSON"}
        | {"description": "d", "text_unit_ids": [prefix], "frequency": 1, "degree": 1}
        for n, title in enumerate(titles)
    )
    return table(schemas.ENTITIES_FINAL_COLUMNS, *rows)


def communities(entity_ids):
    row = {"id": entity_ids[0], "community": 0, "level": 0, "parent": -1, "entity_ids": entity_ids}
    return table(schemas.COMMUNITIES_FINAL_COLUMNS, row)


def reports(text):
    row = {"community": 0, "level": 0, "parent": -1, "full_content": text}
    return table(schemas.COMMUNITY_REPORTS_FINAL_COLUMNS, row)


merged, _ = _group_and_resolve_entities(
    entities("NILS", "IDA", prefix="first"), entities("ERIK", "IDA", prefix="update")
)
joined, numbers = _update_and_merge_communities(
    communities(["first-NILS", "first-IDA"]), communities(["update-ERIK", "update-IDA"])
)
texts = _update_and_merge_community_reports(
    reports("NILS came [Data: Entities (0)]."), reports("ERIK came [Data: Entities (0)]."), numbers
)
title_of = dict(zip(merged["human_readable_id"], merged["title"]))
report = texts["full_content"].iloc[1]
print("report:", report, "number 0 is", title_of[0])
print("in no row:", [i for i in joined["entity_ids"].iloc[1] if i not in set(merged["id"])])
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
report: ERIK came [Data: Entities (0)]. number 0 is NILS
in no row: ['update-IDA']
SEEN
echo "as described"
