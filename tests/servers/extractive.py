"""What the extractive model would reply, for a scripted server to say."""

import re
from collections.abc import Callable

from gsum_assets.gor.prompts import QUESTION
from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.graphrag.settings import ExtractionSettings
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.llm.results import PartialAnswer, Score, TopicScore
from gsum_resources.protocols import Completion, Embedder, Request, Task

_EXTRACTION = extraction_schema(tuple(ExtractionSettings().entity_types), claims=True)
_SCHEMAS = {
    schema.__name__: schema for schema in (Score, TopicScore, PartialAnswer, Report, _EXTRACTION)
}
_TASKS: dict[str, Task] = {
    "Score": "score",
    "TopicScore": "topic",
    "Report": "synopsis",
    _EXTRACTION.__name__: "entities",
}
_PASSAGE = re.compile(r"(?:^|\n\n)\[\d+\]\n")


def extractive_says(embedder: Embedder) -> Callable[[dict], str]:
    """`Says` of a scripted server: each request read back from its body, and answered."""
    model = ExtractiveModel(embedder)

    def says(body: dict) -> str:
        (reply,) = model.complete([_request(body)])
        assert isinstance(reply, Completion), reply
        return reply.text

    return says


def _request(body: dict) -> Request:
    instructions, said = (message["content"] for message in body["messages"])
    material, _, question = said.partition("\n\nQuestion: ")
    name = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    room = body["max_tokens"]
    return Request(
        task="question" if instructions == QUESTION else _TASKS.get(name, "answer"),
        instructions=instructions,
        question=question,
        passages=tuple(_PASSAGE.split(material)[1:]),
        max_words=(room - 1024) // 8 if name else (room - 256) // 4,
        temperature=body["temperature"],
        seed=body["seed"],
        schema=_SCHEMAS.get(name),
    )
