"""Names that a language model takes for one entity, of pairs with near embeddings (ours)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, Field

from gsum_assets.graphrag.aliases import Groups, Judge
from gsum_assets.graphrag.entity_names import Name, sense_key
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


def model_judge(
    mentions: pa.Table,
    model: LanguageModel,
    embedder: Embedder,
    least: float,
    prompts: Prompts = PROMPTS,
) -> Judge:
    """Return a judge of pairs of names with a cosine of at least `least`, the most alike first.

    A model that works by rules gets no request. A pair without a valid reply is two entities.
    """

    def judge(
        names: Mapping[str, Name], groups: Groups
    ) -> tuple[Sequence[tuple[str, str]], Sequence[str]]:
        own = [names[min(group, key=lambda key: names[key].rank())] for group in groups]
        own = [name for name in own if not name.is_guessed]  # noun phrases that rules found
        if len(own) < 2 or getattr(model, "only_quotes", False):
            return [], []
        vectors = embedder.embed([name.name for name in own])
        pairs = [pair for pair in _alike(own, vectors, least) if groups.may_join(*pair)]
        shown = _descriptions(mentions, names, {key for pair in pairs for key in pair})
        asked = prompts.text("same_entity")
        bare = Request("score", asked, max_words=_MAX_WORDS, schema=Verdict)
        requests = [replace(bare, passages=(shown[a], shown[b])) for a, b in pairs]
        same, problems = [], []
        for pair, reply in zip(pairs, model.complete(requests), strict=True):
            verdict, problem = usable(reply, Verdict)
            if verdict is None:
                problems.append(problem)
            elif verdict.is_same:
                same.append(pair)
        lost = f"{len(problems):,} of {len(pairs):,} pairs of names are not compared"
        return same, [f"{lost} (first: {problems[0]})"] if problems else []

    return judge


def _alike(names: Sequence[Name], vectors: np.ndarray, least: float) -> list[tuple[str, str]]:
    """Return the keys of names that may be of one entity, the most alike first.

    `vectors` are of unit length, `(n_names, dim)`.
    """
    neighbours, _ = nearest(vectors, np.arange(len(names) + 1), _NEIGHBOURS)
    alike = set()
    for row, rank in np.argwhere(neighbours.similarities >= least).tolist():
        name, other = names[row], names[int(neighbours.indices[row, rank])]
        if not name.differs_in_kind(other):
            cosine = float(neighbours.similarities[row, rank])
            alike.add((-cosine, *sorted((name.key, other.key))))
    return [(first, other) for _, first, other in sorted(alike)]


def _descriptions(
    mentions: pa.Table, names: Mapping[str, Name], wanted: Collection[str]
) -> dict[str, str]:
    """Return what the first descriptions of each wanted name say, by key."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    columns = ("name_key", "type", "description", "document_id", "chunk_id")
    order = [("document_id", "ascending"), ("chunk_id", "ascending")]
    for row in mentions.select(columns).sort_by(order).to_pylist():
        sense = sense_key(row["name_key"], row["type"])
        key = sense if sense in names else row["name_key"]
        if key in wanted and row["description"] and len(texts[key]) < _DESCRIPTIONS:
            texts[key][row["description"]] = None
    return {key: f"{names[key].title}: {join_texts(texts[key])}" for key in wanted}
