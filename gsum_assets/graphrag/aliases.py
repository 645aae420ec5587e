"""Merging of names of one entity where the corpus has evidence for it (ours).

A wrong merge costs more than a missed one, since it affects communities and reports. A name that
may belong to two entities therefore stays separate.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.acronyms import explained
from gsum_assets.graphrag.name_groups import PERSON, Groups, Link, Name, mentioned_names
from gsum_assets.graphrag.pruning import pruned
from gsum_assets.graphrag.same_entity import Judge
from gsum_assets.graphrag.settings import OTHER, MergingSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import hash_texts

_MOST_EVIDENCE = 5  # chunks
_NO_PERSONS = {"organization", "place", "event"}


def entity_id(name_key: str) -> str:
    """Return the id of the entity whose own name has this key, 32 hex digits."""
    return hash_texts(["entity", name_key])


def resolve(
    mentions: pa.Table, chunks: pa.Table, settings: MergingSettings, judge: Judge | None = None
) -> pa.Table:
    """Return the entity of each name.

    - title: two names of persons differ only by titles, "Dr Lin" and "Lin", and a document has
      both; a name of one word must have a title in every document that has it.
    - short form: a name of one word, with or without titles, begins or ends exactly one other
      name of a person, "Lin" and "Mei Lin", which all of its documents have, too.
    - plural: noun phrases of the extractive model in one document, "lamp" and "lamps".
    - acronym: a chunk defines it in brackets, and no chunk defines it differently.
    - model: `judge`, if there is one, says that what the chunks say of both is about one thing.

    Names that the extractive model alone mentions may have no entity (`pruning.py`): rule "pruned".

    Homonyms of different types are two names, see `mentioned_names`: one has the key
    "washington", the other "washington [place]" and the name "Washington (place)".

    The first two do not apply to a word that may name several persons: if titles or longer names
    differ, or if a distinguishing title, as in "Mr Lin", does not occur with "Mei Lin". All rules
    use the whole corpus, so that a new document may undo a merge.
    """
    names = mentioned_names(mentions)
    homonyms = [(name.bare_key, key) for key, name in names.items() if name.bare_key != key]
    apart = [(name_key(first), name_key(second)) for first, second in settings.apart]
    left_out = pruned(names, chunks)
    kept = {key: name for key, name in names.items() if key not in left_out}
    groups = Groups(kept, [*apart, *homonyms])
    if settings.aliases:
        _join_persons(kept, groups)
        _join_acronyms(kept, chunks, groups)
        _join_plurals(kept, groups)
        for pair in judge(kept, groups) if judge else ():
            _join_judged(kept[pair.first], kept[pair.other], groups)
    rows = [row for group in groups for row in _rows([names[key] for key in group], groups)]
    rows += [_row(names[key], None, "pruned") for key in left_out]
    rows.sort(key=lambda row: row["name_key"])
    return pa.Table.from_pylist(rows, TABLES["graphrag.aliases"].schema)


def _join_persons(names: Mapping[str, Name], groups: Groups) -> None:
    """Merge by title, then by short form."""
    forms: defaultdict[str, list[Name]] = defaultdict(list)
    longer: defaultdict[str, set[str]] = defaultdict(set)
    for name in names.values():
        # types are not reliable, so a name of another type may be a person's
        is_unclear = not {PERSON, "", OTHER}.isdisjoint(name.types)
        if is_unclear or (name.person.has_capitals and not name.types.keys() <= _NO_PERSONS):
            forms[name.person.bare].append(name)
            for end in name.person.ends:
                longer[end].add(name.person.bare)
    families = []
    for bare, bearers in forms.items():
        others = longer.get(bare, ()) if bearers[0].person.is_single else ()
        full = [name for other in sorted(others) for name in forms[other]]
        if len(others) < 2 and _may_be_one(bearers, full):
            families.append((_decided([name for name in bearers if _is_merged(name)], full), full))
    for bearers, _ in families:
        _join_titles(bearers, groups)
    for bearers, full in families:
        proper = [name for name in full if _is_merged(name) and name.person.has_capitals]
        _join_short_forms(bearers, proper, groups)


def _is_merged(name: Name) -> bool:
    return name.is_person and name.person.is_proper


def _may_be_one(bearers: Sequence[Name], full: Sequence[Name]) -> bool:
    """Return whether all forms of a name, with and without titles, may be one person.

    Parameters
    ----------
    bearers : forms of one bare name.
    full : forms of a longer name that begins or ends with it, if any.
    """
    titles_of_full = {title for name in full for title in name.person.telling}
    if full and any(not name.person.telling <= titles_of_full for name in bearers):
        return False
    # a single word may name a doctor and a captain; a full name is more likely one person's
    is_single = bearers[0].person.is_single
    persons = [name.person for name in bearers]
    titles = {person.titles if is_single else person.telling for person in persons}
    ordered = sorted(titles | {name.person.titles for name in full}, key=len)
    return all(fewer <= more for fewer, more in pairwise(ordered))


def _decided(bearers: Sequence[Name], full: Sequence[Name]) -> list[Name]:
    """Return forms without "Lin" if "Dr Lin" and "Mei Lin" occur with it and may be two persons."""
    documents = {document for name in full for document in name.chunks_by_document}
    titled = [
        name
        for name in bearers
        if name.person.titles and not name.chunks_by_document.keys() <= documents
    ]
    return [
        name
        for name in bearers
        if name.person.titles
        or name.chunks_by_document.keys().isdisjoint(documents)
        or all(
            name.chunks_by_document.keys().isdisjoint(other.chunks_by_document) for other in titled
        )
    ]


def _join_titles(forms: Sequence[Name], groups: Groups) -> None:
    """Merge names that differ only by titles."""
    titled = {
        document for name in forms if name.person.titles for document in name.chunks_by_document
    }
    present: defaultdict[str, list[Name]] = defaultdict(list)
    for name in forms if len(forms) > 1 else ():
        if (
            name.person.titles
            or not name.person.is_single
            or name.chunks_by_document.keys() <= titled
        ):
            for document in name.chunks_by_document:
                present[document].append(name)
    for document in sorted(present):
        first, *others = present[document]
        for other in others:
            _join("title", first, other, groups)


def _join_short_forms(forms: Sequence[Name], full: Sequence[Name], groups: Groups) -> None:
    """Merge names of one word with the only person whose full name contains them."""
    if not full or {name.key for name in full} - set(groups.group(full[0].key)):
        return  # no evidence that these are one person
    documents = {document for name in full for document in name.chunks_by_document}
    by_key = {name.key: name for name in forms}
    for name in sorted(forms, key=Name.rank, reverse=True):  # those without titles first
        merged = [by_key[key] for key in groups.group(name.key) if key in by_key]
        if name.person.has_capitals and all(
            m.chunks_by_document.keys() <= documents for m in merged
        ):
            beside = [
                other
                for other in full
                if not name.chunks_by_document.keys().isdisjoint(other.chunks_by_document)
            ]
            _join("short form", name, min(beside, key=Name.rank), groups)


def _join(rule: str, name: Name, other: Name, groups: Groups) -> None:
    """Merge two names, with evidence from the documents that have both."""
    if not groups.may_join(name.key, other.key):
        return
    evidence: list[str] = []
    for document in sorted(name.chunks_by_document.keys() & other.chunks_by_document.keys()):
        pair = name.chunks_by_document[document], other.chunks_by_document[document]
        both = pair[0] & pair[1]
        evidence += [min(both)] if both else sorted(map(min, pair))
        if len(evidence) >= _MOST_EVIDENCE:
            break
    groups.join(name.key, other.key, Link(rule, sorted(evidence[:_MOST_EVIDENCE])))


def _join_acronyms(names: Mapping[str, Name], chunks: pa.Table, groups: Groups) -> None:
    """Merge acronyms, and names such as "Long Form (LF)", with their long forms."""
    # letters -> long form -> acronym -> chunks that define it
    definitions: defaultdict[str, dict[str, dict[str, set[str]]]] = defaultdict(dict)
    # names that contain the definition
    whole: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for text, where, name in _texts(names, chunks):
        for definition in explained(text):
            long = name_key(definition.long).removeprefix("the ")
            shorts = definitions[definition.letters].setdefault(long, {})
            shorts.setdefault(name_key(definition.short), set()).update(where)
            whole[definition.letters, long] += [name] if name else []
    for letters, longs in sorted(definitions.items()):
        for long, shorts in sorted(longs.items()):
            long_keys = (
                key for key in (long, f"the {long}", *whole[letters, long]) if key in names
            )
            if full := next(long_keys, None):
                for name in whole[letters, long]:
                    _join_acronym(names[name], names[full], names[name].chunks, groups)
                for short, where in sorted(shorts.items()) if len(longs) == 1 else ():
                    if short in names and names[short].is_acronym:
                        _join_acronym(names[short], names[full], where, groups)


def _texts(
    names: Mapping[str, Name], chunks: pa.Table
) -> Iterator[tuple[str, Collection[str], str]]:
    """Yield texts with brackets, of chunks and names, with their chunks and the name's key."""
    for chunk, text in zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True):
        if "(" in text or "（" in text:
            yield text, (chunk,), ""
    for name in names.values():
        if "(" in name.key:
            yield name.name, name.chunks, name.key


def _join_acronym(name: Name, full: Name, where: Collection[str], groups: Groups) -> None:
    is_odd = name.is_typed and full.is_typed and name.is_person != full.is_person
    if not is_odd and groups.may_join(name.key, full.key):
        groups.join(name.key, full.key, Link("acronym", sorted(where)[:_MOST_EVIDENCE]))


def _join_plurals(names: Mapping[str, Name], groups: Groups) -> None:
    """Merge noun phrases of the extractive model with their plurals in the same document."""
    for key, name in names.items():
        plural = names.get(f"{key}s", name)
        is_pair = name.is_guessed and plural.is_guessed and name.name.islower()
        if is_pair and name.chunks_by_document.keys() & plural.chunks_by_document.keys():
            _join("plural", name, plural, groups)


def _join_judged(name: Name, other: Name, groups: Groups) -> None:
    if groups.may_join(name.key, other.key):
        groups.join(
            name.key, other.key, Link("model", sorted({min(name.chunks), min(other.chunks)}))
        )


def _rows(group: Sequence[Name], groups: Groups) -> Iterator[dict]:
    """Yield the rows of the names of one entity, each with the link towards the own name."""
    by_key = {name.key: name for name in group}
    own_key = min(group, key=Name.rank).key
    link_of: dict[str, Link] = {own_key: Link("own", ())}
    waiting = [own_key]
    for key in waiting:
        for other, link in sorted(groups.links.get(key, {}).items()):
            if other not in link_of:
                link_of[other] = link
                waiting.append(other)
    for key, link in link_of.items():
        yield _row(by_key[key], entity_id(own_key), link.rule, link.evidence)


def _row(name: Name, entity: str | None, rule: str, evidence: Sequence[str] = ()) -> dict:
    return {
        "name_key": name.key,
        "name": name.title,
        "entity_id": entity,
        "rule": rule,
        "evidence_chunk_ids": list(evidence),
        "n_mentions": name.n_mentions,
    }
