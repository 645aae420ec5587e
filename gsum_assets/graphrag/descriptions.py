"""Several descriptions of one thing merged into one (paper, 2.3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation.budget import CountTokens, cut_to_tokens, lengths, room_for
from gsum_assets.evaluation.question_contexts import (
    NO_USAGE,
    added,
    spent,
    why,
)
from gsum_assets.graphrag.packs import packs
from gsum_assets.graphrag.prompts import MERGED_THING, PROMPTS
from gsum_assets.graphrag.settings import MergingSettings
from gsum_resources.protocols import Completion, LanguageModel, Request


@dataclass
class Described:
    """A thing and its descriptions, which become one.

    Attributes
    ----------
    name : as a model is told it.
    texts : distinct descriptions, in reading order.
    taken : what merging took.
    problem : why they were not merged; they are joined then.
    """

    name: str
    texts: list[str]
    taken: dict[str, Any] = field(default_factory=lambda: dict(NO_USAGE))
    problem: str = ""

    @property
    def text(self) -> str:
        """The description."""
        return self.texts[0] if self.texts else ""


def merge_descriptions(
    things: Mapping[str, Described],
    model: LanguageModel,
    settings: MergingSettings,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> list[str]:
    """Leave each thing with one description; only what has several is asked about.

    What does not fit into one prompt is merged by parts, then the parts are. Where no valid reply
    comes, the descriptions are joined and cut.

    Returns
    -------
    A line for each thing whose descriptions could not be merged.
    """
    while open_things := [thing for thing in things.values() if len(thing.texts) > 1]:
        parts = list(_parts(open_things, settings, count_tokens, prompts))
        replies = model.complete([request for *_, request in parts if request])
        merged = iter(replies)
        texts: dict[int, list[str]] = {id(thing): [] for thing in open_things}
        for thing, passages, request in parts:
            if request is None:
                texts[id(thing)] += passages
                continue
            reply = next(merged)
            thing.taken = added(thing.taken, spent(reply))
            if isinstance(reply, Completion) and reply.text.strip():
                texts[id(thing)].append(" ".join(reply.text.split()))
            else:
                thing.problem = f"descriptions of '{thing.name}' are not merged: {why(reply)}"
                joined = cut_to_tokens(" ".join(passages), 2 * settings.max_words, count_tokens)
                texts[id(thing)].append(joined)
        for thing in open_things:
            thing.texts = texts[id(thing)]
    return [thing.problem for thing in things.values() if thing.problem]


def _parts(
    things: Sequence[Described],
    settings: MergingSettings,
    count_tokens: CountTokens,
    prompts: Prompts,
) -> Iterator[tuple[Described, list[str], Request | None]]:
    """What goes into one prompt; a part of one text alone is not asked about."""
    sizes = lengths((text for thing in things for text in thing.texts), count_tokens)
    for thing in things:
        # a name in a script of a piece a letter, twice, would leave no room
        name = cut_to_tokens(thing.name, settings.prompt_tokens // 4, count_tokens)
        bare = Request(
            task="answer",
            instructions=prompts.text("merge", max_words=settings.max_words),
            ending=MERGED_THING.format(name=name),
            max_words=settings.max_words,
        )
        room = room_for(bare, len(thing.texts), settings.prompt_tokens, count_tokens)
        # two fit at least, so that every round leaves fewer
        most = room.tokens // 2 - room.mark
        texts = [
            text if sizes[text] <= most else cut_to_tokens(text, most, count_tokens)
            for text in thing.texts
        ]
        found = packs(
            texts, [min(sizes[text], most) + room.mark for text in thing.texts], room.tokens
        )
        for places in found:
            passages = [texts[place] for place in places]
            asked = replace(bare, passages=tuple(passages)) if passages[1:] else None
            yield thing, passages, asked
