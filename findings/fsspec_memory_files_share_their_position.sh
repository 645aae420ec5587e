#!/usr/bin/env bash
# fsspec 2026.9.0: do two readers of one file in the memory file system each have a position?
#
# Guess: `open` returns a reader of its own each time, as of a local file or an S3 object.
# Behaviour: `open("rb")` returns the stored object itself, so that all readers share one position,
# and a second `open` sets the first reader back to the beginning; closing does not end it. A test
# that stands in for an object store passes or fails by this alone, and threads read wrong bytes.
# Source: fsspec/implementations/memory.py (`_open` returns `self.store[path]` after `seek(0)`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fsspec==2026.9.0
cat > "$folder/try.py" <<'PY'
import fsspec

for protocol, path in (("memory", "/a.txt"), ("file", __file__ + ".txt")):
    fs = fsspec.filesystem(protocol)
    fs.pipe_file(path, b"0123456789")
    first = fs.open(path, "rb")
    start = first.read(4)
    second = fs.open(path, "rb")
    print(protocol, "same object:", first is second, start, first.read(4), second.read(4))
    second.close()
    print(protocol, "first reader after second was closed:", first.read(2))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
memory same object: True b'0123' b'0123' b'4567'
memory first reader after second was closed: b'89'
file same object: False b'0123' b'4567' b'0123'
file first reader after second was closed: b'89'
SEEN
echo "as described"
