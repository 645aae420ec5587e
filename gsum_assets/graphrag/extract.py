"""Entities, relationships and claims of every chunk (paper, 2.2).

One request extracts all three. A gleaning is one more request that shows the entities found and
requests missing ones; an empty reply means that nothing was missed. The paper uses two requests for
a gleaning: whether anything was missed, then what.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.evaluation.token_usage import NO_USAGE, added, spent
from gsum_assets.graphrag.name_groups import are_homonyms, sense_key
from gsum_assets.graphrag.prompts import PROMPTS, example
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import OTHER, ExtractionSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request
from gsum_resources.text.rendering import flat_text, join_texts

_MAX_WORDS = 300  # of a reply, names and brackets aside


@dataclass
class ChunkGraph:
    """The extracted graph of one chunk, in the order of extraction.

    Attributes
    ----------
    failures : items left out of malformed replies.
    """

    chunk: Mapping[str, Any]
    entities: dict[str, dict] = field(default_factory=dict)
    relationships: dict[frozenset[str], dict] = field(default_factory=dict)
    claims: dict[tuple[str, str], dict] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    n_rounds: int = 0
    usage: dict[str, Any] = field(default_factory=lambda: dict(NO_USAGE))
    is_open: bool = True

    def __post_init__(self) -> None:
        self._text_key = name_key(self.chunk["text"])

    def entity(self, name: str, kind: str, description: str, nth: int, model: str) -> None:
        """Add a mention; descriptions of known names in later rounds are ignored."""
        key = slot = name_key(name)
        mention, description = self.entities.get(key), flat_text(description)
        if mention and mention["round"] == nth and are_homonyms(mention["type"], kind):
            slot = sense_key(key, kind)
            mention = self.entities.get(slot)
        if mention is None:
            named = {"name": name, "name_key": key, "type": kind, "description": description}
            origin = {"round": nth, "is_verbatim": holds(self._text_key, key), "model": model}
            self.entities[slot] = named | origin
        elif not mention["type"] or mention["round"] == nth:
            mention["type"] = mention["type"] or kind
            mention["description"] = _joined(mention["description"], description)

    def relationship(
        self, ends: tuple[str, str], description: str, strength: int, nth: int, model: str
    ) -> None:
        """Add a relationship, and its ends if they are not mentioned otherwise."""
        source, target = (name_key(end) for end in ends)
        for end in ends:
            if name_key(end) not in self.entities:
                self.entity(end, "", "", nth, model)
        description = flat_text(description)
        mention = self.relationships.get(frozenset((source, target)))
        if mention is None:
            self.relationships[frozenset((source, target))] = {
                "source_key": source,
                "target_key": target,
                "description": description,
                "strength": strength,
                "round": nth,
                "model": model,
            }
        elif mention["round"] == nth:
            mention["description"] = _joined(mention["description"], description)
            mention["strength"] = max(mention["strength"], strength)

    def claim(self, claim: Any, nth: int, model: str) -> None:
        """Add a claim, and its subject if it is not mentioned otherwise."""
        subject, statement = name_key(claim.subject), flat_text(claim.description)
        if (subject, statement) in self.claims:
            return
        if subject not in self.entities:
            self.entity(claim.subject, "", "", nth, model)
        object_key = name_key(claim.object)
        self.claims[subject, statement] = {
            "subject_key": subject,
            "object_key": object_key if object_key and object_key != subject else None,
            "type": " ".join(claim.type.split()).lower(),
            "status": claim.status,
            "description": statement,
            "start_date": claim.start_date.strip() or None,
            "end_date": claim.end_date.strip() or None,
            "quote": " ".join(claim.quote.split()),
            "round": nth,
            "model": model,
        }

    def size(self) -> int:
        """Return the number of items."""
        return len(self.entities) + len(self.relationships) + len(self.claims)


def extract(
    chunks: pa.Table, model: LanguageModel, settings: ExtractionSettings, prompts: Prompts = PROMPTS
) -> Result:
    """Extract entities, relationships and claims of each chunk by `model`, with gleanings.

    The requests of each round are sent for all chunks together; a chunk whose last round had
    nothing new, or failed, gets no further ones. Valid items of malformed replies are kept.
    """
    schema = extraction_schema(tuple(settings.entity_types), settings.claims)
    columns = ["chunk_id", "document_id", "position", "text"]
    order = [("document_id", "ascending"), ("position", "ascending")]
    graphs = [ChunkGraph(row) for row in chunks.select(columns).sort_by(order).to_pylist()]
    open_graphs = [graph for graph in graphs if graph.chunk["text"].strip()]
    # a model that works by rules finds the same again
    gleanings = 0 if getattr(model, "only_quotes", False) else settings.gleanings
    for nth in range(gleanings + 1):
        open_graphs = [graph for graph in open_graphs if graph.is_open]
        requests = [_request(graph, nth, schema, settings, prompts) for graph in open_graphs]
        replies = model.complete(requests)
        for graph, reply in zip(open_graphs, replies, strict=True):
            _take(graph, reply, nth, schema)
    return tabulated(graphs)


def tabulated(graphs: Sequence[ChunkGraph]) -> Result:
    """Return the rows of four tables, and a line for each chunk with failures."""
    rows: dict[str, list[dict]] = {
        name: [] for name in ("extractions", "entity_mentions", "relationship_mentions", "claims")
    }
    for graph in graphs:
        of_chunk = {name: graph.chunk[name] for name in ("chunk_id", "document_id")}
        mentions_of = (graph.entities, graph.relationships, graph.claims)
        ends_of = (graph.relationships, ("source", "target")), (graph.claims, ("subject",))
        for mentions, ends in ends_of:
            for mention in mentions.values():
                for end in ends:
                    mention[f"{end}_type"] = graph.entities[mention[f"{end}_key"]]["type"]
        for table, mentions in zip(list(rows)[1:], mentions_of, strict=True):
            for index, mention in enumerate(mentions.values()):
                rows[table].append({**of_chunk, "position": index, **mention})
        rows["extractions"].append(
            {
                **of_chunk,
                "n_rounds": graph.n_rounds,
                "n_entities": len(graph.entities),
                "n_relationships": len(graph.relationships),
                "n_claims": len(graph.claims),
                "problems": graph.failures,
                **graph.usage,
            }
        )
    failures = [
        f"document '{graph.chunk['document_id']}', chunk '{graph.chunk['chunk_id']}': "
        f"{'; '.join(graph.failures)}"
        for graph in graphs
        if graph.failures
    ]
    tables = {
        name: pa.Table.from_pylist(of_table, TABLES[f"graphrag.{name}"].schema)
        for name, of_table in rows.items()
    }
    return Result(tables.pop("extractions"), failures, tables)


def _request(
    graph: ChunkGraph,
    nth: int,
    schema: type[BaseModel],
    settings: ExtractionSettings,
    prompts: Prompts,
) -> Request:
    types = list(dict.fromkeys([*settings.entity_types, OTHER]))
    names = "\n".join(f"- {mention['name']}" for mention in graph.entities.values())
    return Request(
        task="entities",
        instructions=prompts.text(
            "extract",
            types=", ".join(types),
            claims=prompts.text("claims") if settings.claims else "",
            example=example(types, OTHER, settings.claims),
        ),
        ending=prompts.text("glean", known=names or "(none)") if nth else "",
        passages=(graph.chunk["text"],),
        max_words=_MAX_WORDS,
        schema=schema,
        document_id=graph.chunk["document_id"],
    )


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
            graph.relationship(ends, item.description, item.strength, nth, reply.model)
        for item in getattr(items, "claims", ()):
            graph.claim(item, nth, reply.model)
    graph.is_open = isinstance(reply, Completion) and graph.size() > before


def _joined(left: str, right: str) -> str:
    """Return both texts joined, or the longer one if it contains the other."""
    if right in left:
        return left
    return right if left in right else join_texts([left, right])
