#!/usr/bin/env bash
# mcp 2.3.0: what does a server do with an argument that a tool does not have, or with null?
#
# Guess: a tool is a Python function whose signature is published as a JSON schema, so that a call
# with a name that the function does not have is an error, as it is in Python; and null for an
# argument with a default is either the default or an error for each type.
# Behaviour: an unknown argument is dropped without an error: a filter that a client misnames
# filters nothing, and the client is told nothing. The published schema does not forbid it. Null is
# an error for `k: int = 8`, is passed on as None for `name: str | None = "all"`, so that the default
# is lost. The text "null" for the latter becomes None, too, though "3" and "true" stay texts.
# Source: mcp/server/mcpserver/utilities/func_metadata.py (`ArgModelBase` leaves pydantic's
# `extra="ignore"`; `pre_parse_json` reads texts as JSON where the type is not `str` alone).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
cat > "$folder/try.py" <<'PY'
import anyio
from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("shelf", log_level="ERROR")


@server.tool(structured_output=False)
def find(query: str, name: str | None = "all", k: int = 8) -> str:
    return repr((query, name, k))


async def main() -> None:
    async with Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        print("additionalProperties", tool.input_schema.get("additionalProperties"))
        for more in ({"nmae": "ann"}, {"name": None}, {"name": "null"}, {"name": "3"}, {"k": None}):
            result = await client.call_tool("find", {"query": "oak", **more})
            first = result.content[0].text.split("\n")[0].partition(" for ")[0]
            print(more, "error" if result.is_error else "ok", first)


anyio.run(main)
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen" 2> /dev/null
diff - "$folder/seen" <<'SEEN'
additionalProperties None
{'nmae': 'ann'} ok ('oak', 'all', 8)
{'name': None} ok ('oak', None, 8)
{'name': 'null'} ok ('oak', None, 8)
{'name': '3'} ok ('oak', '3', 8)
{'k': None} error Error executing tool find: 1 validation error
SEEN
echo "mcp 2.3.0 drops unknown arguments, and reads null as a value"
