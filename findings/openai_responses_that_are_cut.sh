#!/usr/bin/env bash
# openai 3.52.0: what do its helpers make of a response that ended at `max_output_tokens`?
#
# Guess: the helpers of `client.responses` treat a cut reply as those of `client.chat.completions`
# do: a stream ends with a final object whose status says so, and `parse` raises
# `LengthFinishReasonError`, which has the reply and its usage.
# Behaviour: `responses.stream(...).get_final_response()` raises `RuntimeError`: the event
# `response.incomplete`, with which such a stream ends, is passed on to loops over the stream, but
# the final response is kept of `response.completed` alone. `responses.parse` reads the text whatever
# the status is, so that cut JSON is a `ValidationError` of pydantic without the reply or its usage.
# Source: openai/lib/streaming/responses/_responses.py (`_completed_response` is set for
# "response.completed" only), openai/lib/_parsing/_responses.py (`parse_response` does not look at
# `status`), against openai/lib/_parsing/_completions.py (`LengthFinishReasonError`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.52.0
cat > "$folder/try.py" <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
from pydantic import BaseModel

TEXT = '{"name": "Ann'
PART = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "incomplete"}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 0,
    "model": "m",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [{**MESSAGE, "content": [PART]}],
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
}
BEGUN = {**RESPONSE, "status": "in_progress", "incomplete_details": None, "output": []}
AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EVENTS = [
    {"type": "response.created", "response": BEGUN},
    {"type": "response.output_item.added", "output_index": 0, "item": {**MESSAGE, "content": []}},
    {"type": "response.content_part.added", **AT, "part": {**PART, "text": ""}},
    {"type": "response.output_text.delta", **AT, "delta": TEXT, "logprobs": []},
    {"type": "response.output_text.done", **AT, "text": TEXT, "logprobs": []},
    {"type": "response.output_item.done", "output_index": 0, "item": RESPONSE["output"][0]},
    {"type": "response.incomplete", "response": RESPONSE},
]
CHOICE = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "length"}
CHAT = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [CHOICE]}


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps(RESPONSE if self.path.endswith("responses") else CHAT)
        if sent.get("stream"):
            numbered = ({**event, "sequence_number": i} for i, event in enumerate(EVENTS))
            reply = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in numbered)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if sent.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, *_: object) -> None:
        pass


class Person(BaseModel):
    name: str


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="x")
with client.responses.stream(model="m", input="Who?") as stream:
    print("last event:", [event.type for event in stream][-1])
    try:
        print("final response:", stream.get_final_response().status)
    except Exception as error:
        print("final response:", type(error).__name__, error)
for name, call in {
    "responses.create": lambda: client.responses.create(model="m", input="Who?").status,
    "responses.parse": lambda: client.responses.parse(model="m", input="Who?", text_format=Person),
    "chat.completions.parse": lambda: client.chat.completions.parse(
        model="m", messages=[{"role": "user", "content": "Who?"}], response_format=Person
    ),
}.items():
    try:
        print(f"{name}:", call())
    except Exception as error:
        print(f"{name}:", type(error).__name__)
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
last event: response.incomplete
final response: RuntimeError Didn't receive a `response.completed` event.
responses.create: incomplete
responses.parse: ValidationError
chat.completions.parse: LengthFinishReasonError
SEEN
echo "openai 3.52.0 has no final response of a stream that was cut, and parses cut JSON"
