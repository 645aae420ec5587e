#!/usr/bin/env bash
# graphrag 3.3.0: are reports of `graphrag index --method fast` written from all text units of their community?
#
# Guess: from all that fit into max_input_length, the most connected ones first.
# Behaviour: the text unit with human_readable_id 0, the first of the corpus, is in no prompt, since
# its number is tested for truth; a community of that unit alone is written from an empty text.
# Source: graphrag/index/operations/summarize_communities/text_unit_context/sort_context.py
# (`if "id" in unit and unit["id"]`); create_final_text_units.py numbers from 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check graphrag==3.3.0
cat > "$folder/try.py" <<'PY'
from graphrag.index.operations.summarize_communities.text_unit_context.sort_context import (
    sort_context,
)


class Words:
    """A tokenizer of words, which needs no download."""

    def num_tokens(self, text):
        return len(text.split())


def unit(number, text):
    return {"id": number, "text": text, "entity_degree": 2}


print(sort_context([unit(0, "Ida runs the pier."), unit(1, "Nils rings.")], Words()).split("\n"))
print([sort_context([unit(0, "Ida runs the pier.")], Words())])
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
['-----SOURCES-----', 'id,text,entity_degree', '1,Nils rings.,2', '']
['']
SEEN
echo "as described"
