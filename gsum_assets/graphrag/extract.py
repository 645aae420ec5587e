"""Entities, relationships and claims of every chunk (paper, 2.2).

A request reads a window of neighbouring chunks of a document; its items are assigned to the chunks
that name them. A gleaning shows what was found, where rules find names that the reply lacks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.evaluation.budget import CountTokens, counter_for, structured_room
from gsum_assets.evaluation.token_usage import added, spent
from gsum_assets.graphrag.chunk_graph import ChunkGraph, in_chunks, tabulated
from gsum_assets.graphrag.prompts import PROMPTS, example
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import OTHER, ExtractionSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request
from gsum_resources.text.sentences import flat_text
from gsum_resources.text.speech import speaker_labels, turn_spans
from gsum_resources.text.vocabulary import has_case

_MAX_WORDS = 300  # of a reply to one chunk, names and brackets aside
_WORDS_PER_TOKEN = 0.5  # of a reply to a longer window
_TOKENS = 10**9  # no bound but the model's context
_MOST_SPEAKERS = 20
_LONGEST_TITLE = 120  # characters

Chunk = Mapping[str, Any]


@dataclass(frozen=True)
class Window:
    """Neighbouring rows of `chunks` of a document, their text, and its title and speakers."""

    chunks: Sequence[Chunk]
    text: str
    label: str = ""

    def n_tokens(self, most: int) -> int:
        """Return its tokens, of at most `most` if it has several chunks."""
        n_tokens = sum(chunk["n_tokens"] for chunk in self.chunks)  # what they share twice
        return min(n_tokens, most) if len(self.chunks) > 1 else n_tokens


def extract(
    chunks: pa.Table,
    documents: pa.Table,
    model: LanguageModel,
    settings: ExtractionSettings,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Extract entities, relationships and claims of each chunk by `model`, with gleanings.

    A window whose last round had nothing new, or failed, gets no further requests. A model that
    works by rules reads each chunk alone, once.
    """
    columns = ["chunk_id", "document_id", "position", "text", "start", "end", "n_tokens"]
    order = [("document_id", "ascending"), ("position", "ascending")]
    rows = chunks.select(columns).sort_by(order).to_pylist()
    is_rules = getattr(model, "only_quotes", False)
    bare = _bare_request(settings, prompts, is_rules)
    most = settings.passage_tokens
    if is_rules or not most:
        windows = [Window([chunk], chunk["text"]) for chunk in rows]
    else:
        count_tokens = counter_for(model, 2 * most)
        longest = replace(bare, max_words=_n_words(most))
        room = structured_room(longest, 1, _TOKENS, count_tokens)  # of the model's context
        most = min(most, room.tokens - room.mark)
        windows = list(joined_windows(rows, documents, most, count_tokens))
    read = [
        (window, ChunkGraph({"document_id": window.chunks[0]["document_id"], "text": window.text}))
        for window in windows
    ]
    open_windows = [(window, graph) for window, graph in read if window.text.strip()]
    for nth in range((0 if is_rules else settings.gleanings) + 1):
        if nth:
            open_windows = [
                (window, graph)
                for window, graph in open_windows
                if graph.is_open and (not has_case(window.text) or graph.missed())
            ]
        requests = [
            replace(
                bare,
                passages=(window.text,),
                labels=(window.label,) if window.label else (),
                ending=_gleaning(graph, prompts) if nth else "",
                max_words=_n_words(window.n_tokens(settings.passage_tokens)),
                document_id=window.chunks[0]["document_id"],
            )
            for window, graph in open_windows
        ]
        assert bare.schema is not None
        for (_, graph), reply in zip(open_windows, model.complete(requests), strict=True):
            _add_items(graph, reply, nth, bare.schema)
    return tabulated([part for window, graph in read for part in in_chunks(graph, window.chunks)])


def _bare_request(settings: ExtractionSettings, prompts: Prompts, is_rules: bool) -> Request:
    """Return the request of a window without its text; rules state strengths and quotations."""
    types = list(dict.fromkeys([*settings.entity_types, OTHER]))
    has_claims = is_rules if settings.claims is None else settings.claims
    return Request(
        task="entities",
        instructions=prompts.text(
            "extract",
            types=", ".join(types),
            claims=prompts.text("claims") if has_claims else "",
            example=example(types, OTHER, has_claims),
        ),
        max_words=_MAX_WORDS,
        schema=extraction_schema(tuple(settings.entity_types), has_claims, is_rules),
    )


def _n_words(n_tokens: int) -> int:
    """Return the length of a reply to a passage of so many tokens, in words."""
    return max(_MAX_WORDS, round(_WORDS_PER_TOKEN * n_tokens))


def _gleaning(graph: ChunkGraph, prompts: Prompts) -> str:
    """Return the ending of a request for what the text has besides a graph."""
    entities = graph.entities
    names = [f"- {mention['name']}" for mention in entities.values()]
    pairs = [
        f"- {entities[pair['source_key']]['name']} / {entities[pair['target_key']]['name']}"
        for pair in graph.relationships.values()
    ]
    missed = "\n".join(f"- {name}" for name in graph.missed())
    return prompts.text(
        "glean", known="\n".join([*names, *pairs]) or "(none)", missed=missed or "(unknown)"
    )


def _add_items(graph: ChunkGraph, reply: Reply, nth: int, schema: type[BaseModel]) -> None:
    """Add the items of a reply, and close a chunk whose reply has nothing new."""
    before = graph.size()
    graph.usage = added(graph.usage, spent(reply))
    graph.n_rounds += isinstance(reply, Completion)
    items: Any
    items, problem = usable(reply, schema)
    graph.failures += [problem] if problem else []
    if items is not None:
        for item in items.entities:
            graph.entity(item.name, item.type, item.description, nth, reply.model)
        for item in items.relationships:
            ends = (item.source, item.target)
            strength = getattr(item, "strength", 1)
            graph.relationship(ends, item.description, strength, nth, reply.model)
        for item in getattr(items, "claims", ()):
            graph.claim(item, nth, reply.model)
    graph.is_open = isinstance(reply, Completion) and graph.size() > before


def joined_windows(
    chunks: Iterable[Chunk], documents: pa.Table, max_tokens: int, count_tokens: CountTokens
) -> Iterator[Window]:
    """Yield windows of at most `max_tokens` or one chunk, of chunks in reading order."""
    rows = documents.select(["document_id", "title", "text"]).to_pylist()
    document_of = {row["document_id"]: row for row in rows}
    for document_id, group in groupby(chunks, lambda chunk: chunk["document_id"]):
        of_document, text = list(group), document_of[document_id]["text"]
        label_at = _labels(document_of[document_id]["title"], text)
        starts, ends = ([chunk[name] for chunk in of_document] for name in ("start", "end"))
        sizes = count_tokens([chunk["text"] for chunk in of_document])
        behind = [max(start, end) for start, end in zip(starts, [0, *ends], strict=False)]
        added = count_tokens([text[start:end] for start, end in zip(behind, ends, strict=True)])
        first = 0
        while first < len(of_document):
            label = label_at(starts[first])
            end, room = first + 1, max_tokens - sizes[first] - count_tokens([label])[0]
            while end < len(of_document) and added[end] <= room:
                room -= added[end]
                end += 1
            whole = of_document[first]["text"] + text[ends[first] : ends[end - 1]]
            yield Window(of_document[first:end], whole, label)
            first = end


def _labels(title: str, text: str) -> Callable[[int], str]:
    """Return a function from a character of a document to what a reader should know there."""
    spans = turn_spans(text, speaker_labels([text]))
    speakers = list(dict.fromkeys(speaker for speaker, _, _ in spans if speaker))
    words = [flat_text(title)[:_LONGEST_TITLE]]
    if speakers:
        words.append(f"speakers: {', '.join(speakers[:_MOST_SPEAKERS])}")

    def label(position: int) -> str:
        speaking = [name for name, start, end in spans if name and start < position < end]
        return "; ".join([*words, *(f"it begins while {name} speaks" for name in speaking)])

    return label
