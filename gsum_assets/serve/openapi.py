"""`/api/openapi.json`: the description of all interfaces, and `/api/docs`, a page that shows it."""

from collections.abc import Sequence
from html import escape
from inspect import getdoc
from typing import Any

from starlette.responses import HTMLResponse

from gsum_assets.serve.http import Endpoint

_REPLIES = {
    "200": {"description": "the result"},
    "4XX": {"description": "what is wrong with the request, and how to mend it"},
}


def description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the description of endpoints in the form of OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        schema = endpoint.schema.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        described: dict[str, Any] = {"summary": getdoc(endpoint.handler), "responses": _REPLIES}
        if endpoint.method == "POST":
            schemas[endpoint.schema.__name__] = schema
            reference = {"$ref": f"#/components/schemas/{endpoint.schema.__name__}"}
            content = {"application/json": {"schema": reference}}
            described["requestBody"] = {"required": True, "content": content}
        else:
            required = schema.get("required", ())
            described["parameters"] = [
                {"name": name, "in": "query", "required": name in required, "schema": field}
                for name, field in schema.get("properties", {}).items()
            ]
        paths[endpoint.path] = {endpoint.method.lower(): described}
    return {
        "openapi": "3.1.0",
        "info": {"title": "gsum", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def page(endpoints: Sequence[Endpoint]) -> HTMLResponse:
    """Return a page about endpoints, without script or style."""
    rows = []
    for endpoint in endpoints:
        heading, summary = f"{endpoint.method} {endpoint.path}", getdoc(endpoint.handler) or ""
        rows.append(f"<h2>{escape(heading)}</h2><p>{escape(summary)}</p><dl>")
        for name, field in endpoint.schema.model_fields.items():
            value = "required" if field.is_required() else f"default: {field.default!r}"
            meaning = f"{field.description}; {value}" if field.description else value
            rows.append(f"<dt><code>{escape(name)}</code></dt><dd>{escape(meaning)}</dd>")
        rows.append("</dl>")
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>gsum: interfaces</title>'
        '<meta name="viewport" content="width=device-width"></head><body><main><h1>Interfaces</h1>'
        '<p>For programs: <a href="/api/openapi.json">openapi.json</a>.</p>'
        f"{''.join(rows)}</main></body></html>"
    )
