#!/usr/bin/env bash
# transformers 5.24.0: what does `from_pretrained` return if two threads call it at once?
#
# Guess: two models; each call creates a model of its own and reads a file.
# Behaviour: sooner or later both loads leave out the tying of weights, without an error: `lm_head` of
# a GPT-2 is on the device "meta". The function that ties stays replaced, so that every later load of
# the process, also alone, is broken in the same way. The loading info reports `missing_keys`.
# Source: transformers/initialization.py, `no_tie_weights`: it keeps `PreTrainedModel.tie_weights`,
# replaces it by an empty function, and restores what it kept; the second of two threads keeps the
# empty function of the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0 torch==2.13.0 2>/dev/null
cat > "$folder/try.py" <<'PY'
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, logging

logging.set_verbosity_error()
folder = sys.argv[1]
GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=16, n_layer=1, n_head=2)).save_pretrained(folder)
barrier = Barrier(2)


def load(together: bool = True) -> tuple[str, list[str]]:
    if together:
        barrier.wait()
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    return model.lm_head.weight.device.type, sorted(info["missing_keys"])


print("alone:", *load(together=False))
with ThreadPoolExecutor(2) as pool:
    for _ in range(300):
        results = list(pool.map(load, [True, True]))
        if load(together=False)[0] == "meta":
            break
print("alone, after loads in two threads:", *load(together=False))
PY
"$folder/venv/bin/python" "$folder/try.py" "$folder/model" 2>/dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
alone: cpu []
alone, after loads in two threads: meta ['lm_head.weight']
SEEN
echo "as described"
