"""Rejections of known servers, recorded and replayed.

Each is a function of a request's body: status and body of the rejection, or None.
"""


def _format(body: dict) -> str:
    return (body.get("response_format") or {}).get("type", "")


def llama_cpp_python(body: dict) -> tuple[int, dict] | None:
    """`python -m llama_cpp.server` 0.3.36: 500 to what FastAPI's validation refuses (recorded)."""
    if _format(body) not in ("json_schema",):
        return None
    message = (
        "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', "
        "'type'), 'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema', "
        "'ctx': {'expected': \"'text' or 'json_object'\"}}\n\n  File \"llama_cpp/server/app.py\", "
        "line 376, in create_chat_completion\n    POST /v1/chat/completions"
    )
    error = {"message": message, "type": "internal_server_error", "param": None, "code": None}
    return 500, {"error": error}


def vllm(body: dict) -> tuple[int, dict] | None:
    """VLLM: 400 to schemas with features that its grammar backend does not know."""
    if "minimum" not in str(body.get("response_format")):
        return None
    message = "The provided JSON schema contains features not supported by xgrammar."
    return 400, {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def azure(body: dict) -> tuple[int, dict] | None:
    """OpenAI's models at Azure: 400 to bounds of lists in a strict schema (its documentation)."""
    if "maxItems" not in str(body.get("response_format")):
        return None
    message = (
        "Invalid schema for response_format 'Names': In context=('properties', 'names'), "
        "'maxItems' is not permitted."
    )
    return 400, {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def openai_reasoning(body: dict) -> tuple[int, dict] | None:
    """OpenAI's reasoning models: one complaint after the other, each about one parameter."""
    error = {"type": "invalid_request_error"}
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead."
        )
        code = {"param": "max_tokens", "code": "unsupported_parameter"}
        return 400, {"error": error | code | {"message": message}}
    if "temperature" in body:
        message = (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
            "(1) value is supported."
        )
        code = {"param": "temperature", "code": "unsupported_value"}
        return 400, {"error": error | code | {"message": message}}
    return None


def litellm_proxy(body: dict) -> tuple[int, dict] | None:
    """A proxy that passes on the validation error of the server behind it as its own 500."""
    if not _format(body):
        return None
    message = (
        "litellm.InternalServerError: 1 validation error for ChatRequest\nresponse_format.type\n"
        f"  Input should be 'text' [type=literal_error, input_value='{_format(body)}']"
    )
    return 500, {"error": {"message": message, "type": None, "param": None, "code": "500"}}


def old_vllm(body: dict) -> tuple[int, dict] | None:
    """A server that knows no `response_format`."""
    if not _format(body):
        return None
    return 400, {"message": "Extra inputs are not permitted", "type": "BadRequestError"}
