"""`/api/openapi.json`: the description of all interfaces, and `/api/docs`, a page that shows it."""

from html import escape
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from gsum_assets.serve.ask_api import AskBody, SearchBody
from gsum_assets.serve.openai_api import ChatBody

_GET: dict[str, tuple[str, dict[str, str]]] = {
    "/health": ("Whether the service runs.", {}),
    "/api/corpora": ("The corpora, their methods, and how they are.", {}),
    "/api/documents": (
        "Documents of a corpus by title.",
        {
            "corpus": "name",
            "q": "words of the title or id; optional",
            "offset": "first one; optional",
            "limit": "how many, up to 1000; optional",
        },
    ),
    "/api/document": (
        "A document with its text, sections and passages.",
        {"corpus": "name", "id": "id of the document"},
    ),
    "/api/passage": (
        "A passage with those around it.",
        {
            "corpus": "name",
            "id": "id of the passage",
            "around": "passages before and after, up to 20; optional",
        },
    ),
    "/v1/models": ("The models of OpenAI's protocol: `corpus` and `corpus/method`.", {}),
}
_POST: dict[str, tuple[str, type[BaseModel]]] = {
    "/api/ask": (
        "An answer with its sources; with `stream`, events `words`, `restart`, `answer`, `error`.",
        AskBody,
    ),
    "/api/search": ("The passages of a question, best first.", SearchBody),
    "/v1/chat/completions": ("An answer in OpenAI's protocol, also streamed.", ChatBody),
}


def description() -> dict[str, Any]:
    """Return the description in the form of OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    codes = {"200": "the result", "4XX": "what is wrong with the request, and how to mend it"}
    replies = {"responses": {code: {"description": meaning} for code, meaning in codes.items()}}
    paths: dict[str, Any] = {}
    for path, (summary, parameters) in _GET.items():
        listed = [
            {
                "name": name,
                "in": "query",
                "description": meaning.removesuffix("; optional"),
                "required": not meaning.endswith("; optional"),
                "schema": {"type": "string"},
            }
            for name, meaning in parameters.items()
        ]
        paths[path] = {"get": {"summary": summary, "parameters": listed, **replies}}
    for path, (summary, body) in _POST.items():
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        schemas[body.__name__] = schema
        reference = {"$ref": f"#/components/schemas/{body.__name__}"}
        request = {"required": True, "content": {"application/json": {"schema": reference}}}
        paths[path] = {"post": {"summary": summary, "requestBody": request, **replies}}
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "gsum", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
        "security": [{"token": []}, {}],
    }


def _json(_: Request) -> JSONResponse:
    return JSONResponse(description())


def _page(_: Request) -> HTMLResponse:
    """Return a page without script or style."""
    described = {
        f"GET {path}": (summary, parameters) for path, (summary, parameters) in _GET.items()
    }
    for path, (summary, body) in _POST.items():
        fields = body.model_fields.items()
        meanings = {
            name: "required" if field.is_required() else f"{field.default!r}"
            for name, field in fields
        }
        described[f"POST {path}"] = summary, meanings
    rows = []
    for heading, (summary, meanings) in described.items():
        named = "".join(
            f"<dt><code>{escape(name)}</code></dt><dd>{escape(meaning)}</dd>"
            for name, meaning in meanings.items()
        )
        rows.append(f"<h2>{escape(heading)}</h2><p>{escape(summary)}</p><dl>{named}</dl>")
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>gsum: interfaces</title>'
        '<meta name="viewport" content="width=device-width"></head><body><main><h1>Interfaces</h1>'
        '<p>For programs: <a href="/api/openapi.json">openapi.json</a>.</p>'
        f"{''.join(rows)}</main></body></html>"
    )


ROUTES = [Route("/api/openapi.json", _json), Route("/api/docs", _page)]
