"""Identity of a request: everything that its reply depends on."""

import json
from functools import cache

from pydantic import BaseModel

from gsum_resources.protocols.models import Request
from gsum_resources.store.content_hash import hash_texts


def prompt_hash(identity: str, request: Request) -> str:
    """Return 32 hex digits of model identity, full prompt, sampling settings and schema."""
    return hash_texts(
        [
            identity,
            request.task,
            request.instructions,
            request.question,
            *request.passages,
            json.dumps([request.max_words, request.temperature, request.seed]),
            _schema_text(request.schema) if request.schema else "null",
            *([request.ending] if request.ending else []),
            *([json.dumps(["labels", *request.labels])] if request.labels else []),
            *([json.dumps(["weights", *request.weights])] if request.weights else []),
            *(["brief"] if request.is_brief else []),
        ]
    )


@cache
def _schema_text(schema: type[BaseModel]) -> str:
    """Return the JSON schema as text; cached, since creating it dominates the time of a call."""
    return json.dumps(schema.model_json_schema(), sort_keys=True)
