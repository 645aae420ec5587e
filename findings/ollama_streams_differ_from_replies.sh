#!/usr/bin/env bash
# ollama 0.6.3 (client for Python): what does `stream=True` change, besides the time of arrival?
#
# Guess: a stream is the same reply in pieces. The request is sent when `chat` is called, errors are
# those of a whole reply (`ConnectionError` without a server, `ResponseError` with a status), a reply
# that is cut off is an error, and each line of the NDJSON is read up to its line feed.
# Behaviour: nothing is sent before the first piece is taken. Without a server the error is
# `httpx.ConnectError`, which is no `ConnectionError`. An error that the server sends midway has the
# status -1. A stream that ends before `"done": true` ends without an error. Lines end wherever
# `str.splitlines` ends them: a text with U+0085 or U+2028, which JSON need not escape (the encoder
# of Go escapes U+2028 and not U+0085), is a `JSONDecodeError`, and so is an empty line.
# A whole reply with the same text is read.
# Source: ollama/_client.py (`Client._request`: the generator `inner` catches `HTTPStatusError` alone,
# loops over `r.iter_lines()`, and raises `ResponseError(err)`; `_request_raw` catches `ConnectError`,
# too), httpx/_decoders.py (`LineDecoder`: `text.splitlines()`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ollama==0.6.3 httpx==0.28.1
cat > "$folder/try.py" <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ollama

requests = []


def piece(text: str, done: bool = False) -> dict:
    return {"model": "m", "message": {"role": "assistant", "content": text}, "done": done}


BEGUN, END = piece("One"), piece("", done=True)
REPLIES = {
    "whole": [BEGUN, END],
    "U+2028": [piece("One\u2028two"), END],
    "U+0085": [piece("One\u0085two"), END],
    "empty line": [BEGUN, None, END],
    "cut off": [BEGUN],
    "error midway": [BEGUN, {"error": "out of memory"}],
}


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests.append(sent)
        lines = REPLIES[sent["model"]][: None if sent["stream"] else 1]
        texts = [json.dumps(line, ensure_ascii=False) if line else "" for line in lines]
        reply = "".join(f"{text}\n" for text in texts).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


def outcome(client: ollama.Client, model: str, stream: bool) -> str:
    try:
        reply = client.chat(model, [{"role": "user", "content": "?"}], stream=stream)
        texts = [part.message.content for part in reply] if stream else [reply.message.content]
        return f"read {ascii(''.join(texts))}"
    except Exception as error:
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        return f"{kind} {getattr(error, 'status_code', '')}".strip()


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = ollama.Client(host=f"http://127.0.0.1:{server.server_port}")
client.chat("whole", [{"role": "user", "content": "?"}], stream=True)
print("requests of a stream that is not read:", len(requests))
for model in REPLIES:
    print(f"{model}:", *(outcome(client, model, stream) for stream in (False, True)), sep=" | ")
server.shutdown()
server.server_close()
nobody = ollama.Client(host=f"http://127.0.0.1:{server.server_port}")
print("no server:", *(outcome(nobody, "whole", stream) for stream in (False, True)), sep=" | ")
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
requests of a stream that is not read: 0
whole: | read 'One' | read 'One'
U+2028: | read 'One\u2028two' | json.decoder.JSONDecodeError
U+0085: | read 'One\x85two' | json.decoder.JSONDecodeError
empty line: | read 'One' | json.decoder.JSONDecodeError
cut off: | read 'One' | read 'One'
error midway: | read 'One' | ollama._types.ResponseError -1
no server: | builtins.ConnectionError | httpx.ConnectError
SEEN
echo "a stream of ollama 0.6.3 has other errors than a reply, and lines that end at U+0085 and U+2028"
