"""What identifies a request: everything that its reply depends on."""

import json

from gsum_resources.content_hash import hash_texts
from gsum_resources.protocols import Request


def prompt_hash(identity: str, request: Request) -> str:
    """32 hex digits over model identity, full prompt, sampling settings and schema."""
    schema = request.schema.model_json_schema() if request.schema else None
    return hash_texts(
        [
            identity,
            request.task,
            request.instructions,
            request.question,
            *request.passages,
            json.dumps([request.max_words, request.temperature, request.seed]),
            json.dumps(schema, sort_keys=True),
        ]
    )
