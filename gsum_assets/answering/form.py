"""Answers as JSON, by a JSON schema that came with the question."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError

from gsum_assets.answering.answer import Answer
from gsum_assets.evaluation.answer import AnswerError
from gsum_assets.evaluation.token_usage import why
from gsum_assets.pipeline.step import Inputs
from gsum_resources.llm.replies import correction
from gsum_resources.protocols.models import Completion, Request

_ATTEMPTS, _MOST_WORDS = 2, 400
_VALUE = re.compile(r"[{\[].*[}\]]", re.DOTALL)  # without a fence or prose around it
_PATTERN = re.compile(r'"pattern": "|"patternProperties": ')  # may take endless time
_REFERENCE = re.compile(r'"\$ref": "(?:#/\$defs/)?([^"]*)"')


def schema_in(form: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the JSON schema in a `response_format` of OpenAI's protocol; None: it is text.

    Raise `ValueError` if no answer can be requested by it.
    """
    if not form or form.get("type") == "text":
        return None
    named = form.get("json_schema", form)
    if not isinstance(named, dict) or not isinstance(schema := named.get("schema"), dict):
        raise ValueError(f"{form!s:.80} has no schema; send type 'json_schema' with one")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"it is no JSON schema: {error.message:.200}") from error
    text = json.dumps(schema)
    if _PATTERN.search(text):
        raise ValueError("patterns are not supported; describe them in `description`")
    for name in _REFERENCE.findall(text):  # others would be fetched
        if name not in schema.get("$defs", {}):
            raise ValueError(f"nothing in its $defs is named '{name:.80}'; add it")
    return schema


def in_form(answer: Answer, schema: Mapping[str, Any], inputs: Inputs) -> Answer:
    """Return an answer with JSON as its text, written from its text and its sources.

    Raise `AnswerError` if the model that writes answers sends no JSON that satisfies the schema.
    """
    described, problem = json.dumps(schema, ensure_ascii=False), ""
    request = Request(
        task="answer",
        instructions=inputs.prompts("answers").text("json", schema=described),
        question=answer.understood or answer.question,
        passages=tuple(source.text for source in answer.sources),
        max_words=_MOST_WORDS,
        ending=f"Answer: {answer.numbered_text}",
    )
    for _ in range(_ATTEMPTS):
        (reply,) = inputs.model("language_model").complete([request])
        if not isinstance(reply, Completion):
            raise AnswerError(f"the answer was not written as JSON: {why(reply)}")
        usage = {name: value + getattr(reply, name) for name, value in answer.usage.items()}
        answer = replace(answer, usage=usage)
        try:
            found = _VALUE.search(reply.text)
            value = json.loads(found.group() if found else reply.text)
            Draft202012Validator(schema).validate(value)
            return replace(answer, text=json.dumps(value, ensure_ascii=False), lines=())
        except (ValueError, ValidationError, RecursionError) as error:
            problem = str(error).partition("\n")[0]
            request = replace(request, ending=f"{request.ending}\n\n{correction(problem)}")
    raise AnswerError(f"the model wrote no JSON of the requested form: {problem}; ask again")
