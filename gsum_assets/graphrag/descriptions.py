"""Merging of several descriptions into one (paper, 2.3), and packing of texts into prompts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gsum_assets.evaluation.budget import CountTokens, counter_for, cut_to_tokens, lengths, room_for
from gsum_assets.evaluation.token_usage import NO_USAGE, added, spent, why
from gsum_assets.graphrag.prompts import MERGED_THING, PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.sentences import flat_text, join_texts
from gsum_resources.text.vocabulary import n_words

PROMPT_TOKENS = 4000  # of the longest merge (the package); longer texts are merged in batches
MAX_WORDS = 100  # of a merged description (ours)
JOINED_WORDS = 100  # descriptions of no more words together are joined, without a request (ours)

# A pack that is this full ends early after a text marked by its hash (one in three), so that two
# packings of nearly the same texts agree again after such a text.
_FULL, _MARKED = 0.75, 3


@dataclass
class Described:
    """An entity or relationship and its distinct descriptions, which are merged into one.

    `problem` is why they were not merged but joined.
    """

    name: str
    texts: list[str]
    usage: dict[str, Any] = field(default_factory=lambda: dict(NO_USAGE))
    problem: str = ""

    @property
    def text(self) -> str:
        """The description."""
        return self.texts[0] if self.texts else ""


def merge_descriptions(
    things: Mapping[str, Described], model: LanguageModel, prompts: Prompts = PROMPTS
) -> list[str]:
    """Merge the descriptions of each thing that has several; return a line for each failure.

    Those that do not fit into one prompt are merged in batches, then the results are merged.
    Without a valid reply, they are joined and cut.
    """
    count_tokens = counter_for(model, PROMPT_TOKENS)
    if not getattr(model, "only_quotes", False):
        for thing in things.values():
            joined = join_texts(thing.texts)
            if len(thing.texts) > 1 and n_words(joined) <= JOINED_WORDS:
                thing.texts = [joined]
    while several := [thing for thing in things.values() if len(thing.texts) > 1]:
        batches = list(_batches(several, count_tokens, prompts))
        replies = iter(model.complete([request for *_, request in batches if request]))
        for thing in several:
            thing.texts = []
        for thing, passages, request in batches:
            if request is None:
                thing.texts += passages
                continue
            reply = next(replies)
            thing.usage = added(thing.usage, spent(reply))
            if isinstance(reply, Completion) and reply.text.strip():
                thing.texts.append(flat_text(reply.text))
            else:
                thing.problem = why(reply)
                joined = cut_to_tokens(join_texts(passages), 2 * MAX_WORDS, count_tokens)
                thing.texts.append(joined)
    return [
        f"descriptions of '{key}' are not merged: {thing.problem}"
        for key, thing in things.items()
        if thing.problem
    ]


def _batches(
    things: Sequence[Described], count_tokens: CountTokens, prompts: Prompts
) -> Iterator[tuple[Described, list[str], Request | None]]:
    """Yield the batches of descriptions, with a request for those of several texts."""
    sizes = lengths((text for thing in things for text in thing.texts), count_tokens)
    instructions = prompts.text("merge", max_words=MAX_WORDS)
    for thing in things:
        # cut, as a long name in a script with one word piece per letter would leave no room
        name = cut_to_tokens(thing.name, PROMPT_TOKENS // 4, count_tokens)
        ending = MERGED_THING.format(name=name)
        bare = Request("answer", instructions, ending=ending, max_words=MAX_WORDS)
        room = room_for(bare, len(thing.texts), PROMPT_TOKENS, count_tokens)
        # at least two fit, so that every round reduces their number
        most = room.tokens // 2 - room.mark
        texts = shortened(thing.texts, sizes, most, count_tokens)
        marked = [min(sizes[text], most) + room.mark for text in thing.texts]
        for indices in packs(texts, marked, room.tokens):
            passages = [texts[index] for index in indices]
            request = replace(bare, passages=tuple(passages)) if passages[1:] else None
            yield thing, passages, request


def shortened(
    texts: Sequence[str], sizes: Mapping[str, int], most: int, count_tokens: CountTokens
) -> list[str]:
    """Return texts, those of more than `most` word pieces cut."""
    return [t if sizes[t] <= most else cut_to_tokens(t, most, count_tokens) for t in texts]


def packs(keys: Sequence[str], sizes: Sequence[int], room: int) -> list[list[int]]:
    """Return the indices of the texts of each pack, in order, of at most `room` together.

    Ends of packs depend on the keys of the texts, and not on their positions.
    """
    packed: list[list[int]] = []
    used = room + 1  # starts a new pack
    for index, (key, size) in enumerate(zip(keys, sizes, strict=True)):
        if used + size > room:
            packed.append([])
            used = 0
        packed[-1].append(index)
        used += size
        if used >= _FULL * room and int(hash_texts(["pack", key])[:8], 16) % _MARKED == 0:
            used = room + 1
    return packed
