#!/usr/bin/env bash
# webvtt-py 0.6.0: what becomes of a caption whose text has a blank line, in its three formats?
#
# Guess: as all three formats separate captions by blank lines, either each parser ends the caption
# there or none does; and a caption whose seconds exceed 59 is read or refused.
# Behaviour: the parser of SubRip joins the text behind a blank line to its caption. Those of WebVTT
# and SubViewer end the caption there and drop the rest, without an error: half of what was said is
# gone. A WebVTT caption that starts at 00:70 is dropped without an error, too.
# Source: webvtt/srt.py (blocks are split where a number follows, and joined otherwise),
# webvtt/vtt.py and webvtt/sbv.py (each block is read by itself).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check webvtt-py==0.6.0
cat > "$folder/try.py" <<'PY'
import io

import webvtt

FORMS = {
    "vtt": ("WEBVTT\n\n", "00:00:0{}.000 --> 00:00:0{}.500\n{}\n\n"),
    "srt": ("", "1\n00:00:0{},000 --> 00:00:0{},500\n{}\n\n"),
    "sbv": ("", "0:00:0{}.000,0:00:0{}.500\n{}\n\n"),
}


def texts(content, form):
    return [caption.text for caption in webvtt.from_buffer(io.StringIO(content), form)]


for form, (head, cue) in FORMS.items():
    content = head + cue.format(1, 1, "It cost a lot,\n\nnamely 900.") + cue.format(3, 3, "Thanks.")
    print(form, texts(content, form))
print(texts("WEBVTT\n\n00:58.000 --> 00:59.000\nOne.\n\n00:70.000 --> 00:72.000\nTwo.\n", "vtt"))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
vtt ['It cost a lot,', 'Thanks.']
srt ['It cost a lot,\nnamely 900.', 'Thanks.']
sbv ['It cost a lot,', 'Thanks.']
['One.']
SEEN
echo "as described"
