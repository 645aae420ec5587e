"""Names that a language model takes for one entity (ours).

The rules of `aliases.py` miss names that share no word with each other, or of things other than
persons. Those whose embeddings are near each other are shown to the model in pairs, with what the
corpus says of each. A pair is asked again only if what is shown of it changed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, Field

from gsum_assets.graphrag.name_groups import Groups, Name, sense_key
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphs.nearest import nearest
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import Embedder, LanguageModel, Request
from gsum_resources.text.sentences import join_texts

_NEIGHBOURS = 3  # of a name
_DESCRIPTIONS = 3  # of a name in a prompt
_MAX_WORDS = 40  # of a reply


class Verdict(BaseModel):
    """Whether two names are of one entity."""

    reason: str = Field(description="What the passages say that decides it, in one sentence.")
    is_same: bool = Field(description="Whether both passages are about one and the same thing.")


class Pair(NamedTuple):
    """Keys of two names, and the cosine of their embeddings."""

    first: str
    other: str
    cosine: float


Judge = Callable[[Mapping[str, Name], Groups], Sequence[Pair]]
"""Returns the pairs of names, in different groups, that are of one entity."""


class ModelJudge:
    """Has a language model judge pairs of names that are alike.

    Parameters
    ----------
    mentions : rows of `graphrag.entity_mentions`.
    least : cosine from which a pair is judged.

    Attributes
    ----------
    failures : a line for each pair without a valid reply, which counts as two entities.
    """

    def __init__(
        self,
        mentions: pa.Table,
        model: LanguageModel,
        embedder: Embedder,
        least: float,
        prompts: Prompts = PROMPTS,
    ) -> None:
        self._mentions = mentions
        self._model = model
        self._embedder = embedder
        self._least = least
        self._prompts = prompts
        self.failures: list[str] = []

    def __call__(self, names: Mapping[str, Name], groups: Groups) -> list[Pair]:
        """Return the pairs that the model takes for one entity, the most alike first.

        A model that works by rules says nothing of two names, and is not asked.
        """
        if getattr(self._model, "only_quotes", False):
            return []
        own = [names[min(group, key=lambda key: names[key].rank())] for group in groups]
        own = [name for name in own if not name.is_guessed]  # noun phrases that rules found
        if len(own) < 2:
            return []
        vectors = self._embedder.embed([name.name for name in own])
        pairs = [
            pair
            for pair in alike(own, vectors, self._least)
            if groups.may_join(pair.first, pair.other)
        ]
        shown = self._passages(names, {key for pair in pairs for key in pair[:2]})
        instructions = self._prompts.text("same_entity")
        requests = [
            Request(
                task="score",
                instructions=instructions,
                passages=(shown[pair.first], shown[pair.other]),
                max_words=_MAX_WORDS,
                schema=Verdict,
            )
            for pair in pairs
        ]
        same, problems = [], []
        for pair, reply in zip(pairs, self._model.complete(requests), strict=True):
            verdict, problem = usable(reply, Verdict)
            if verdict is None:
                problems.append(problem)
            elif verdict.is_same:
                same.append(pair)
        if problems:
            self.failures.append(
                f"{len(problems):,} of {len(pairs):,} pairs of names are not compared "
                f"(first: {problems[0]})"
            )
        return same

    def _passages(self, names: Mapping[str, Name], wanted: set[str]) -> dict[str, str]:
        """Return what the first descriptions of each wanted name say, by key."""
        texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
        columns = ("name_key", "type", "description", "document_id", "chunk_id")
        rows = self._mentions.select(columns).sort_by(
            [("document_id", "ascending"), ("chunk_id", "ascending")]
        )
        for row in rows.to_pylist():
            sense = sense_key(row["name_key"], row["type"])
            key = sense if sense in names else row["name_key"]
            if key in wanted and row["description"] and len(texts[key]) < _DESCRIPTIONS:
                texts[key][row["description"]] = None
        return {key: f"{names[key].title}: {join_texts(list(texts[key]))}" for key in wanted}


def alike(names: Sequence[Name], vectors: np.ndarray, least: float) -> list[Pair]:
    """Return pairs of names that may be of one entity, the most alike first.

    A pair has a cosine of at least `least`, one of the two is among the nearest of the other, and
    not one of them alone is a person.

    Parameters
    ----------
    vectors : of the names, `(n_names, dim)`, of unit length.
    """
    found, _ = nearest(vectors, np.arange(len(names) + 1), _NEIGHBOURS)
    return sorted(
        set(_pairs(names, found.indices, found.similarities, least)),
        key=lambda pair: (-pair.cosine, pair),
    )


def _pairs(
    names: Sequence[Name], indices: np.ndarray, cosines: np.ndarray, least: float
) -> Iterator[Pair]:
    for name, others, values in zip(names, indices.tolist(), cosines.tolist(), strict=True):
        for index, cosine in zip(others, values, strict=True):
            other = names[index]
            is_odd = name.is_typed and other.is_typed and name.is_person != other.is_person
            if cosine >= least and not is_odd:
                yield Pair(min(name.key, other.key), max(name.key, other.key), cosine)
