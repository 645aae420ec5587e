"""Entities, relationships and claims of every chunk (paper, 2.2).

One request extracts all three from a window of neighbouring chunks. What is found is then assigned
to those of its chunks that name it. A gleaning is one more request that begins as the first one and
shows what was found; an empty reply means that nothing was missed. It is sent only where rules find
names that the reply lacks. The paper uses two requests for a gleaning: whether anything was missed,
then what.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.evaluation.budget import CountTokens, counter_for, structured_room
from gsum_assets.evaluation.token_usage import added, spent
from gsum_assets.graphrag.chunk_graph import ChunkGraph, in_chunks, tabulated
from gsum_assets.graphrag.prompts import PROMPTS, example
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import OTHER, ExtractionSettings
from gsum_assets.graphrag.windows import Window, joined_windows, single_windows
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request
from gsum_resources.text.vocabulary import has_case

_MAX_WORDS = 300  # of a reply to one chunk, names and brackets aside
_WORDS_PER_TOKEN = 0.5  # of a reply to a longer window
_TOKENS = 10**9  # no bound but the model's context


def extract(
    chunks: pa.Table,
    documents: pa.Table,
    model: LanguageModel,
    settings: ExtractionSettings,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Extract entities, relationships and claims of each chunk by `model`, with gleanings.

    The requests of each round are sent for all windows together; a window whose last round had
    nothing new, or failed, gets no further ones. Valid items of malformed replies are kept. A model
    that works by rules reads each chunk alone, as its rules do, and finds nothing more in a second
    round.

    Parameters
    ----------
    documents : rows of `documents` with these chunks.
    """
    columns = ["chunk_id", "document_id", "position", "text", "start", "end", "n_tokens"]
    order = [("document_id", "ascending"), ("position", "ascending")]
    rows = chunks.select(columns).sort_by(order).to_pylist()
    is_rules = getattr(model, "only_quotes", False)
    requests_of = _Requests(settings, prompts, is_rules)
    if is_rules or not settings.passage_tokens:
        windows = single_windows(rows)
    else:
        count_tokens = counter_for(model, 2 * settings.passage_tokens)
        most = min(settings.passage_tokens, requests_of.room(count_tokens))
        windows = joined_windows(rows, documents, most, count_tokens)
    graphs = [
        ChunkGraph({"document_id": window.chunks[0]["document_id"], "text": window.text})
        for window in windows
    ]
    requested = [
        (window, graph)
        for window, graph in zip(windows, graphs, strict=True)
        if window.text.strip()
    ]
    for nth in range((0 if is_rules else settings.gleanings) + 1):
        requests = [requests_of.request(window, graph, nth) for window, graph in requested]
        for (_, graph), reply in zip(requested, model.complete(requests), strict=True):
            _take(graph, reply, nth, requests_of.schema)
        requested = [(window, graph) for window, graph in requested if requests_of.goes_on(graph)]
    return tabulated(
        [
            of_chunk
            for window, graph in zip(windows, graphs, strict=True)
            for of_chunk in in_chunks(graph, window.chunks)
        ]
    )


class _Requests:
    """The requests of an extraction.

    Parameters
    ----------
    is_rules : whether the model works by rules, which state strengths and quotations for nothing.
    """

    def __init__(self, settings: ExtractionSettings, prompts: Prompts, is_rules: bool) -> None:
        types = list(dict.fromkeys([*settings.entity_types, OTHER]))
        has_claims = is_rules if settings.claims is None else settings.claims
        self.schema = extraction_schema(tuple(settings.entity_types), has_claims, is_rules)
        self._prompts = prompts
        self._passage_tokens = settings.passage_tokens
        self._bare = Request(
            task="entities",
            instructions=prompts.text(
                "extract",
                types=", ".join(types),
                claims=prompts.text("claims") if has_claims else "",
                example=example(types, OTHER, has_claims),
            ),
            max_words=_MAX_WORDS,
            schema=self.schema,
        )

    def room(self, count_tokens: CountTokens) -> int:
        """Return how many tokens of a passage the model's context can hold."""
        longest = replace(self._bare, max_words=_n_words(self._passage_tokens))
        room = structured_room(longest, 1, _TOKENS, count_tokens)
        return room.tokens - room.mark

    def request(self, window: Window, graph: ChunkGraph, nth: int) -> Request:
        """Return the request of a window in the n-th round; all begin with the same text."""
        n_tokens = sum(chunk["n_tokens"] for chunk in window.chunks)  # what they share twice
        if len(window.chunks) > 1:
            n_tokens = min(n_tokens, self._passage_tokens)
        return replace(
            self._bare,
            passages=(window.text,),
            labels=(window.label,) if window.label else (),
            ending=self._glean(graph) if nth else "",
            max_words=_n_words(n_tokens),
            document_id=window.chunks[0]["document_id"],
        )

    def goes_on(self, graph: ChunkGraph) -> bool:
        """Return whether a further round may find something."""
        return graph.is_open and (not has_case(graph.chunk["text"]) or bool(graph.missed()))

    def _glean(self, graph: ChunkGraph) -> str:
        entities = graph.entities
        names = [f"- {mention['name']}" for mention in entities.values()]
        pairs = [
            f"- {entities[pair['source_key']]['name']} / {entities[pair['target_key']]['name']}"
            for pair in graph.relationships.values()
        ]
        missed = "\n".join(f"- {name}" for name in graph.missed())
        return self._prompts.text(
            "glean", known="\n".join([*names, *pairs]) or "(none)", missed=missed or "(unknown)"
        )


def _n_words(n_tokens: int) -> int:
    """Return the length of a reply to a passage of so many tokens, in words."""
    return max(_MAX_WORDS, round(_WORDS_PER_TOKEN * n_tokens))


def _take(graph: ChunkGraph, reply: Reply, nth: int, schema: type[BaseModel]) -> None:
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
