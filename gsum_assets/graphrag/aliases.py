"""Names that stand for one entity, merged where the corpus itself speaks for it (ours).

A wrong merge costs more than a missed one: it joins what two entities do and spreads from there
into communities and reports. So where a name may belong to two, it stays an entity of its own.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.acronyms import explained
from gsum_assets.graphrag.name_groups import PERSON, Groups, Link, Name, mentioned_names
from gsum_assets.graphrag.settings import OTHER, MergingSettings
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts

_MOST_EVIDENCE = 5  # chunks
_NO_PERSONS = {"organization", "place", "event"}  # the embedded model calls anything a thing


def entity_id(name_key: str) -> str:
    """Return the id of the entity whose own name has this key, 32 hex digits."""
    return hash_texts(["entity", name_key])


def resolve(mentions: pa.Table, chunks: pa.Table, settings: MergingSettings) -> pa.Table:
    """Return the entity that each name stands for.

    - title: two names of persons differ by titles alone, "Dr Lin" and "Lin", and a document has
      both; a name of one word must have a title in every document that has it.
    - short form: a name of one word, with titles or without, begins or ends exactly one other
      name of a person, "Lin" and "Mei Lin", and each of its documents has that, too.
    - acronym: a chunk explains it in brackets, and no chunk explains it otherwise.

    Neither of the first two holds for a word that can be the name of several: where titles or
    longer names differ, and where a title that tells persons apart, as in "Mr Lin", is not known of
    "Mei Lin". All rules see the whole corpus, so that a new document may part what was merged.

    Parameters
    ----------
    mentions : name_key, name, type, chunk_id, document_id of `graphrag.entity_mentions`.
    chunks : chunk_id and text of the same corpus.

    Returns
    -------
    pa.Table
        Rows of `graphrag.aliases` by name_key, the same for any order of either table.
    """
    names = mentioned_names(mentions)
    groups = Groups(names, [(name_key(one), name_key(other)) for one, other in settings.apart])
    if settings.aliases:
        _join_persons(names, groups)
        _join_acronyms(names, chunks, groups)
    rows = [row for group in groups for row in _rows([names[key] for key in group], groups)]
    rows.sort(key=lambda row: row["name_key"])
    return pa.Table.from_pylist(rows, TABLES["graphrag.aliases"].schema)


def _join_persons(names: Mapping[str, Name], groups: Groups) -> None:
    """Merge by title, then by short form."""
    forms: defaultdict[str, list[Name]] = defaultdict(list)
    longer: defaultdict[str, set[str]] = defaultdict(set)
    for name in names.values():
        if _may_be_person(name):
            forms[name.person.bare].append(name)
            for end in name.person.ends:
                longer[end].add(name.person.bare)
    families = []
    for bare, bearers in forms.items():
        others = longer.get(bare, ()) if bearers[0].person.is_single else ()
        full = [one for other in sorted(others) for one in forms[other]]
        if len(others) < 2 and _may_be_one(bearers, full):
            families.append((_decided([one for one in bearers if _is_merged(one)], full), full))
    for bearers, _ in families:
        _join_titles(bearers, groups)
    for bearers, full in families:
        proper = [one for one in full if _is_merged(one) and one.person.has_capitals]
        _join_short_forms(bearers, proper, groups)


def _may_be_person(name: Name) -> bool:
    """Return whether it may be a person, and so rival another, though types are not always right."""
    is_unclear = not {PERSON, "", OTHER}.isdisjoint(name.types)
    return is_unclear or (name.person.has_capitals and not name.types.keys() <= _NO_PERSONS)


def _is_merged(name: Name) -> bool:
    return name.is_person and name.person.is_proper


def _may_be_one(bearers: Sequence[Name], full: Sequence[Name]) -> bool:
    """Return whether all that bear a name, with titles and without, can be one person.

    Parameters
    ----------
    bearers : of one bare name.
    full : of a longer name that begins or ends with it, if there is one.
    """
    known = {title for one in full for title in one.person.telling}
    if full and any(not one.person.telling <= known for one in bearers):
        return False
    # a word may be the name of a doctor and of a captain; a full name is rather one person's
    is_single = bearers[0].person.is_single
    kinds = {one.titles if is_single else one.telling for one in (n.person for n in bearers)}
    ordered = sorted(kinds | {one.person.titles for one in full}, key=len)
    return all(one <= other for one, other in pairwise(ordered))


def _decided(bearers: Sequence[Name], full: Sequence[Name]) -> list[Name]:
    """Leave out "Lin" where "Dr Lin" and "Mei Lin" stand beside it and may be two persons."""
    documents = {document for one in full for document in one.places}
    titled = [one for one in bearers if one.person.titles and not one.places.keys() <= documents]
    return [
        one
        for one in bearers
        if one.person.titles
        or one.places.keys().isdisjoint(documents)
        or all(one.places.keys().isdisjoint(other.places) for other in titled)
    ]


def _join_titles(forms: Sequence[Name], groups: Groups) -> None:
    """Merge names that differ by titles alone."""
    titled = {document for one in forms if one.person.titles for document in one.places}
    present: defaultdict[str, list[Name]] = defaultdict(list)
    for one in forms if len(forms) > 1 else ():
        if one.person.titles or not one.person.is_single or one.places.keys() <= titled:
            for document in one.places:
                present[document].append(one)
    for document in sorted(present):
        first, *others = present[document]
        for other in others:
            _join("title", first, other, groups)


def _join_short_forms(forms: Sequence[Name], full: Sequence[Name], groups: Groups) -> None:
    """Merge names of one word with the one person whose full name holds it."""
    if not full or {one.key for one in full} - set(groups.group(full[0].key)):
        return  # nothing says that these are one
    documents = {document for one in full for document in one.places}
    by_key = {one.key: one for one in forms}
    for one in sorted(forms, key=Name.rank, reverse=True):  # those without titles first
        merged = [by_key[key] for key in groups.group(one.key) if key in by_key]
        if one.person.has_capitals and all(m.places.keys() <= documents for m in merged):
            beside = [other for other in full if not one.places.keys().isdisjoint(other.places)]
            _join("short form", one, min(beside, key=Name.rank), groups)


def _join(rule: str, one: Name, other: Name, groups: Groups) -> None:
    """Merge two names, with the documents that have both as evidence."""
    if not groups.may_join(one.key, other.key):
        return
    found: list[str] = []
    for document in sorted(one.places.keys() & other.places.keys()):
        places = one.places[document], other.places[document]
        both = places[0] & places[1]
        found += [min(both)] if both else sorted(map(min, places))
        if len(found) >= _MOST_EVIDENCE:
            break
    groups.join(one.key, other.key, Link(rule, sorted(found[:_MOST_EVIDENCE])))


def _join_acronyms(names: Mapping[str, Name], chunks: pa.Table, groups: Groups) -> None:
    """Merge acronyms, and names such as "Long Form (LF)", with what they are said to stand for."""
    # letters to long form to acronym to the chunks that say so
    said: defaultdict[str, dict[str, dict[str, set[str]]]] = defaultdict(dict)
    whole: defaultdict[tuple[str, str], list[str]] = defaultdict(list)  # names that say it
    for text, where, name in _texts(names, chunks):
        for one in explained(text):
            long = name_key(one.long).removeprefix("the ")
            shorts = said[one.letters].setdefault(long, {})
            shorts.setdefault(name_key(one.short), set()).update(where)
            whole[one.letters, long] += [name] if name else []
    for letters, longs in sorted(said.items()):
        for long, shorts in sorted(longs.items()):
            known = (key for key in (long, f"the {long}", *whole[letters, long]) if key in names)
            if full := next(known, None):
                for name in whole[letters, long]:
                    _join_said(names[name], names[full], names[name].chunks, groups)
                for short, where in sorted(shorts.items()) if len(longs) == 1 else ():
                    if short in names and names[short].is_acronym:
                        _join_said(names[short], names[full], where, groups)


def _texts(
    names: Mapping[str, Name], chunks: pa.Table
) -> Iterator[tuple[str, Collection[str], str]]:
    """Yield texts with brackets: those of chunks, and names; their chunks; and a name's key."""
    for chunk, text in zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True):
        if "(" in text or "（" in text:
            yield text, (chunk,), ""
    for name in names.values():
        if "(" in name.key:
            yield name.name, name.chunks, name.key


def _join_said(one: Name, full: Name, where: Collection[str], groups: Groups) -> None:
    is_odd = one.is_typed and full.is_typed and one.is_person != full.is_person
    if not is_odd and groups.may_join(one.key, full.key):
        groups.join(one.key, full.key, Link("acronym", sorted(where)[:_MOST_EVIDENCE]))


def _rows(group: Sequence[Name], groups: Groups) -> Iterator[dict]:
    """Yield rows of names that are one entity's; each is explained by the link towards its own name."""
    by_key = {name.key: name for name in group}
    own = min(group, key=Name.rank).key
    found: dict[str, Link] = {own: Link("own", ())}
    waiting = [own]
    for key in waiting:
        for other, link in sorted(groups.links.get(key, {}).items()):
            if other not in found:
                found[other] = link
                waiting.append(other)
    for key, link in found.items():
        yield {
            "name_key": key,
            "name": by_key[key].name,
            "entity_id": entity_id(own),
            "rule": link.rule,
            "evidence_chunk_ids": list(link.evidence),
            "n_mentions": by_key[key].n_mentions,
        }
