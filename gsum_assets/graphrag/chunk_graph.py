"""The extracted graph of a text, its parts in the chunks of that text, and its rows."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.graphrag.entity_names import are_homonyms, sense_key
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.text.entities import proper_names
from gsum_resources.text.sentences import flat_text, join_texts, read_sentences
from gsum_resources.text.vocabulary import words_in


@dataclass
class ChunkGraph:
    """The extracted graph of a chunk or window, whose text and identity are `chunk`."""

    chunk: Mapping[str, Any]
    entities: dict[str, dict] = field(default_factory=dict)
    relationships: dict[frozenset[str], dict] = field(default_factory=dict)
    claims: dict[tuple[str, str], dict] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    n_rounds: int = 0
    usage: dict[str, Any] = field(default_factory=lambda: dict(NO_USAGE))
    is_open: bool = True

    def __post_init__(self) -> None:
        self.text_key = name_key(self.chunk["text"])

    def missed(self) -> list[str]:
        """Return names that rules find, single words in two sentences, and that no mention has."""
        known = [mention["name_key"] for mention in self.entities.values()]
        return [
            name
            for name, sentences in proper_names(read_sentences([self.chunk["text"]])).items()
            if (len(sentences) > 1 or " " in name)
            and not any(holds(key, name_key(name)) for key in known)
        ]

    def entity(self, name: str, kind: str, description: str, nth: int, model: str) -> None:
        """Add a mention; descriptions of known names in later rounds are ignored."""
        key = slot = name_key(name)
        mention, description = self.entities.get(key), flat_text(description)
        if mention and mention["round"] == nth and are_homonyms(mention["type"], kind):
            slot = sense_key(key, kind)
            mention = self.entities.get(slot)
        if mention is None:
            self.entities[slot] = {
                "name": name,
                "name_key": key,
                "type": kind,
                "description": description,
                "round": nth,
                "is_verbatim": holds(self.text_key, key),
                "model": model,
            }
        elif not mention["type"] or mention["round"] == nth:
            mention["type"] = mention["type"] or kind
            mention["description"] = _joined(mention["description"], description)

    def name(self, name: str, nth: int, model: str) -> str:
        """Return the key of a name, which becomes an entity if it is not mentioned otherwise."""
        if (key := name_key(name)) not in self.entities:
            self.entity(name, "", "", nth, model)
        return key

    def relationship(
        self, ends: tuple[str, str], description: str, strength: int, nth: int, model: str
    ) -> None:
        """Add a relationship, and its ends if they are not mentioned otherwise."""
        source, target = (self.name(end, nth, model) for end in ends)
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
        subject, statement = self.name(claim.subject, nth, model), flat_text(claim.description)
        object_key = name_key(claim.object)
        new = {
            "subject_key": subject,
            "object_key": object_key if object_key and object_key != subject else None,
            "type": " ".join(claim.type.split()).lower(),
            "status": claim.status,
            "description": statement,
            "start_date": claim.start_date.strip() or None,
            "end_date": claim.end_date.strip() or None,
            "quote": " ".join(getattr(claim, "quote", "").split()),
            "round": nth,
            "model": model,
        }
        self.claims.setdefault((subject, statement), new)

    def size(self) -> int:
        """Return the number of items."""
        return len(self.entities) + len(self.relationships) + len(self.claims)


def in_chunks(graph: ChunkGraph, chunks: Sequence[Mapping[str, Any]]) -> list[ChunkGraph]:
    """Return the graph of each chunk of a window; the first one has what the requests cost.

    An entity is mentioned in the chunks that contain its name, a relationship in those that contain
    both. Other items, and each claim, are in the chunk that shares most words with them.
    """
    if len(chunks) == 1:
        return [replace(graph, chunk=chunks[0])]
    parts = [ChunkGraph(chunk, n_rounds=graph.n_rounds) for chunk in chunks]
    parts[0].usage, parts[0].failures = graph.usage, graph.failures
    words = [set(words_in(part.text_key)) for part in parts]
    described: dict[str, list[str]] = {}
    for entity in graph.entities.values():
        texts = described.setdefault(entity["name_key"], [])
        texts.append(f"{entity['name']} {entity['description']}")
    naming = {key: {i for i, p in enumerate(parts) if holds(p.text_key, key)} for key in described}

    def nearest(text: str, among: Set[int]) -> int:
        wanted = set(words_in(name_key(text)))
        return max(sorted(among or range(len(parts))), key=lambda i: len(wanted & words[i]))

    def mention(index: int, *keys: str) -> None:
        for slot, entity in graph.entities.items():
            if entity["name_key"] in keys:
                is_verbatim = index in naming[entity["name_key"]]
                parts[index].entities.setdefault(slot, entity | {"is_verbatim": is_verbatim})

    for key, indices in naming.items():
        for index in sorted(indices) or [nearest(" ".join(described[key]), set())]:
            mention(index, key)
    for ends, related in graph.relationships.items():
        source, target = (naming[related[f"{end}_key"]] for end in ("source", "target"))
        for index in sorted(source & target) or [nearest(related["description"], source | target)]:
            mention(index, *ends)
            parts[index].relationships[ends] = dict(related)
    for identity, claim in graph.claims.items():
        index = nearest(claim["description"], naming[claim["subject_key"]])
        mention(index, claim["subject_key"])
        parts[index].claims[identity] = dict(claim)
    return parts


def tabulated(graphs: Sequence[ChunkGraph]) -> Result:
    """Return the rows of four tables, and a line for each chunk with failures."""
    names = ("extractions", "entity_mentions", "relationship_mentions", "claims")
    rows: dict[str, list[dict]] = {name: [] for name in names}
    failures = []
    for graph in graphs:
        of_chunk = {name: graph.chunk[name] for name in ("chunk_id", "document_id")}
        for table, mentions, ends in (
            ("entity_mentions", graph.entities, ()),
            ("relationship_mentions", graph.relationships, ("source", "target")),
            ("claims", graph.claims, ("subject",)),
        ):
            for position, mention in enumerate(mentions.values()):
                type_of = {end: graph.entities[mention[f"{end}_key"]]["type"] for end in ends}
                types = {f"{end}_type": kind for end, kind in type_of.items()}
                rows[table].append({**of_chunk, "position": position, **mention, **types})
        counts = {
            "n_rounds": graph.n_rounds,
            "n_entities": len(graph.entities),
            "n_relationships": len(graph.relationships),
            "n_claims": len(graph.claims),
        }
        extraction = {**of_chunk, **counts, "problems": graph.failures, **graph.usage}
        rows["extractions"].append(extraction)
        if graph.failures:
            where = f"document '{graph.chunk['document_id']}', chunk '{graph.chunk['chunk_id']}'"
            failures.append(f"{where}: {'; '.join(graph.failures)}")
    return result_of("graphrag", rows, failures)


def _joined(left: str, right: str) -> str:
    """Return both texts joined, or the longer one if it contains the other."""
    if right in left:
        return left
    return right if left in right else join_texts([left, right])
