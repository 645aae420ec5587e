"""Replies of the extractive model, served by a scripted server."""

import json
import re
from collections.abc import Callable

from pydantic import BaseModel

from gsum_assets.gor.prompts import QUESTION
from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.graphrag.settings import ExtractionSettings
from gsum_assets.jerr.prompts import Extraction, Keywords, LookUp, Pause
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, Embedder, Request, Task
from gsum_resources.protocols.results import KeyPoints, ReasonedScore, Score, TopicScore
from gsum_resources.store.content_hash import hash_texts
from tests.servers.replies import value_for, wanted_schema

_EXTRACTIONS = [
    extraction_schema(tuple(ExtractionSettings().entity_types), claims) for claims in (False, True)
]
_SCHEMAS = {
    frozenset(schema.model_fields): schema  # two of them have one name
    for schema in (
        *(Score, ReasonedScore, TopicScore, KeyPoints, Report, *_EXTRACTIONS),
        *(Extraction, Keywords, LookUp, Pause),
    )
}
_TASKS: dict[type[BaseModel] | None, Task] = {
    Score: "score",
    ReasonedScore: "score",
    TopicScore: "topic",
    Report: "synopsis",
    **dict.fromkeys(_EXTRACTIONS, "entities"),
}
_PASSAGE = re.compile(r"(?:^|\n\n)\[\d+\](?: [^\n]*)?\n")


def extractive_says(embedder: Embedder) -> Callable[[dict], str]:
    """`Says` of a scripted server: each request read back from its body, and answered.

    A schema that the model does not know is filled as the server does by itself.
    """
    model = ExtractiveModel(embedder)

    def says(body: dict) -> str:
        schema = wanted_schema(body)
        if schema and frozenset(schema["properties"]) not in _SCHEMAS:
            return json.dumps(value_for(schema, hash_texts([str(body["messages"])])))
        (reply,) = model.complete([_request(body)])
        assert isinstance(reply, Completion), reply
        return reply.text

    return says


def _request(body: dict) -> Request:
    instructions, said = (message["content"] for message in body["messages"])
    material, _, question = said.partition("\n\nQuestion: ")
    wanted = body.get("response_format", {}).get("json_schema")
    schema = _SCHEMAS.get(frozenset(wanted["schema"]["properties"])) if wanted else None
    room = body["max_tokens"]
    return Request(
        task="question" if instructions == QUESTION else _TASKS.get(schema, "answer"),
        instructions=instructions,
        question=question,
        passages=tuple(_PASSAGE.split(material)[1:]),
        max_words=(room - 1024) // 8 if wanted else (room - 256) // 4,
        temperature=body["temperature"],
        seed=body["seed"],
        schema=schema,
    )
