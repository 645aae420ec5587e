"""A proposal of entity types and of an extraction prompt, from a sample of a corpus.

A language model names the subject, types of entities, and what looks like one and is none; a short
passage, extracted by these types, becomes the prompt's example. A person should read it.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import NamedTuple

import pyarrow as pa
from pydantic import BaseModel, Field

from gsum_assets.graphrag.prompts import EXAMPLE, EXTRACT, NOT_LISTED, PROMPTS, SURVEY, example
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import OTHER
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Completion, LanguageModel, Request

_MOST_TYPES = 10
_EXAMPLE_WORDS = 60
_CAPITAL = re.compile(r"(?<=[\w,;] )[^\W\d_a-z]")


class TuningError(ValueError):
    """Nothing could be proposed; the message names the reason and the remedy."""


class Survey(BaseModel):
    """What a sample of texts is about."""

    subject: str = Field(description="What the texts are about, in one sentence.")
    entity_types: list[str] = Field(
        min_length=1, max_length=_MOST_TYPES, description="Singular nouns in lower case."
    )
    not_entities: list[str] = Field(
        default_factory=list, description="Phrases of the texts that are no entities."
    )


class Proposal(NamedTuple):
    """Subject of the texts, proposed entity types, and text of `prompts/graphrag/extract.md`."""

    subject: str
    entity_types: Sequence[str]
    prompt: str


def sample(chunks: pa.Table, n: int) -> list[str]:
    """Return the texts of `n` chunks, of as many documents as there are, in an order by hash."""
    rows = chunks.select(["document_id", "chunk_id", "text"]).to_pylist()
    rows.sort(key=lambda row: hashlib.blake2b(row["chunk_id"].encode()).digest())
    of_document: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        of_document[row["document_id"]].append(row["text"])
    in_turn = chain.from_iterable(zip_longest(*of_document.values()))
    return [text for text in in_turn if text is not None][:n]


def propose(texts: Sequence[str], model: LanguageModel, prompts: Prompts = PROMPTS) -> Proposal:
    """Return a proposal for texts like these, by two requests.

    Raises
    ------
    TuningError
        If there is no text, or a request fails.
    """
    if not texts:
        raise TuningError("there are no passages to look at; run gsum run first")
    survey = _reply(model, Request("entities", SURVEY, passages=tuple(texts), schema=Survey))
    assert isinstance(survey, Survey)
    types = list(dict.fromkeys(kind.strip().lower() for kind in survey.entity_types))
    types = [kind for kind in types if kind and kind != OTHER]
    if not types:
        raise TuningError("the model proposed no type of entities; try another model in [llm]")
    heads = [" ".join(text.split()[:_EXAMPLE_WORDS]) for text in texts]
    excerpt = max(heads, key=lambda head: len(_CAPITAL.findall(head)))  # most names
    instructions = prompts.text(
        "extract", types=", ".join(types), claims="", example=example(types, OTHER, False)
    )
    schema = extraction_schema(tuple(types), claims=False)
    request = Request("entities", instructions, passages=(excerpt,), schema=schema)
    found = _reply(model, request).model_dump(include={"entities", "relationships"})
    return Proposal(survey.subject, types, _prompt(survey, excerpt, found))


def _reply(model: LanguageModel, request: Request) -> BaseModel:
    (reply,) = model.complete([replace(request, max_words=600)])
    if not isinstance(reply, Completion) or reply.parsed is None:
        raise TuningError(f"nothing was proposed: {getattr(reply, 'message', reply)}")
    return reply.parsed


def _prompt(survey: Survey, excerpt: str, found: dict) -> str:
    """Return the built-in prompt with the corpus's subject, example and negative examples."""

    def literal(text: str) -> str:  # its braces are no placeholders
        return text.replace("{", "{{").replace("}", "}}")

    no_entities = "; ".join(f'"{phrase}"' for phrase in survey.not_entities[:5] if phrase.strip())
    negative = f"In these texts also not: {literal(no_entities)}." if no_entities else ""
    text = EXTRACT.replace(f'"{EXAMPLE}" gives', f'"{literal(excerpt)}" gives')
    text = text.replace("{example}", literal(json.dumps(found, ensure_ascii=False)))
    text = text.replace(NOT_LISTED, negative).rstrip()
    return f"The passages are about this: {literal(survey.subject.strip())}\n\n{text}\n"
