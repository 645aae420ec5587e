"""Answers as JSON, by a JSON schema that came with the question."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.workspace import Workspace
from gsum_assets.evaluation.answer import AnswerError
from gsum_assets.evaluation.token_usage import NO_USAGE, added, spent, why
from gsum_assets.pipeline.prompts import prompts_of
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.replies import correction
from gsum_resources.protocols.models import Completion, Request

_ATTEMPTS, _MOST_WORDS = 2, 400
_VALUE = re.compile(r"[{\[].*[}\]]", re.DOTALL)  # without a fence or prose around it
_PATTERN = re.compile(r'"pattern": "|"patternProperties": ')  # may take endless time
_REFERENCE = re.compile(r'"\$ref": "(?:#/\$defs/)?([^"]*)"')


def checked_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a JSON schema, or raise `ValueError` if no answer can be requested by it."""
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


def in_form(answer: Answer, schema: Mapping[str, Any], workspace: Workspace, corpus: str) -> Answer:
    """Return an answer with JSON as its text, written from its text and its sources.

    Raise `AnswerError` if the model that writes answers sends no JSON that satisfies the schema.
    """
    prompts = prompts_of(workspace.section, corpus, "answers")
    ledger = Ledger(workspace.store, TABLES["llm_calls"], corpus, "ask")
    model = workspace.models.language_model(ledger, name="answers")
    request = Request(
        task="answer",
        instructions=prompts.text("json", schema=json.dumps(schema, ensure_ascii=False)),
        question=answer.understood or answer.question,
        passages=tuple(source.text for source in answer.sources),
        max_words=_MOST_WORDS,
        ending=f"Answer: {answer.numbered_text}",
    )
    usage, problem = {**NO_USAGE, **answer.usage, "model": answer.model}, ""
    for _ in range(_ATTEMPTS):
        again = f"{request.ending}\n\n{correction(problem)}" if problem else request.ending
        (reply,) = model.complete([replace(request, ending=again)])
        if not isinstance(reply, Completion):
            raise AnswerError(f"the answer was not written as JSON: {why(reply)}")
        usage = added(usage, spent(reply))
        try:
            found = _VALUE.search(reply.text)
            value = json.loads(found.group() if found else reply.text)
            Draft202012Validator(schema).validate(value)
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (ValueError, ValidationError, RecursionError) as error:
            problem = f"{error}".partition("\n")[0]
        else:
            return replace(answer, text=text, lines=(), usage=usage)
    raise AnswerError(f"the model wrote no JSON of the requested form: {problem}; ask again")
