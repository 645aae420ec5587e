"""Merging of names of one entity where the corpus has evidence for it (ours).

A name that may belong to two entities stays separate: a wrong merge costs more than a missed one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise, product
from operator import itemgetter

import pyarrow as pa

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.entity_names import PERSON, Name, mentioned_names, pruned
from gsum_assets.graphrag.homonyms import mark_contexts
from gsum_assets.graphrag.name_forms import explained, letters_of
from gsum_assets.graphrag.settings import OTHER, MergingSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import mapping
from gsum_resources.store.content_hash import hash_texts

_MOST_EVIDENCE = 5  # chunks
_NO_PERSONS = {"organization", "place", "event"}


class Groups:
    """Groups of merged names without pairs of `apart`, and rule and evidence of each merge."""

    def __init__(self, keys: Iterable[str], apart: Iterable[tuple[str, str]]) -> None:
        from scipy.cluster.hierarchy import DisjointSet

        self._sets = DisjointSet(keys)
        self._apart = set(map(frozenset, apart))
        self.links: defaultdict[str, dict[str, tuple[str, Sequence[str]]]] = defaultdict(dict)

    def group(self, key: str) -> Collection[str]:
        """Return the keys merged with a name, including itself."""
        return self._sets.subset(key)

    def may_join(self, first: str, second: str) -> bool:
        """Return whether two names are in different groups that may be merged."""
        pairs = product(self.group(first), self.group(second))
        is_one = self._sets.connected(first, second)
        return not is_one and self._apart.isdisjoint(map(frozenset, pairs))

    def join(self, first: str, second: str, rule: str, evidence: Sequence[str]) -> None:
        """Merge the groups of two names, if they may be merged."""
        if self.may_join(first, second):
            self._sets.merge(first, second)
            self.links[first][second] = self.links[second][first] = rule, evidence

    def __iter__(self) -> Iterator[Collection[str]]:
        return iter(self._sets.subsets())


def entity_id(name_key: str) -> str:
    """Return the id of the entity whose own name has this key."""
    return hash_texts(["entity", name_key])


def resolve(mentions: pa.Table, chunks: pa.Table, settings: MergingSettings) -> pa.Table:
    """Return the entity of each name: rows of `graphrag.aliases`.

    - title: two names of persons differ only by titles, "Dr Lin" and "Lin", and a document has
      both; a name of one word must have a title in every document that has it.
    - short form: a name of one word, with or without titles, begins or ends exactly one other
      name of a person, "Lin" and "Mei Lin", which all of its documents have, too.
    - plural: noun phrases of the extractive model in one document, "lamp" and "lamps".
    - acronym: a chunk defines it in brackets, and no chunk defines it differently.

    The first two do not apply to a word that may name several persons: if titles or longer names
    differ, or if a distinguishing title, as in "Mr Lin", does not occur with "Mei Lin"; nor to a
    name of contexts that are apart if the other one occurs in some of them only. Some names
    have no entity, see `pruned`; homonyms of different types are two, see `mentioned_names`.
    """
    names = mentioned_names(mentions)
    homonyms = [(name.bare_key, key) for key, name in names.items() if name.bare_key != key]
    apart = [(name_key(first), name_key(second)) for first, second in settings.apart]
    left_out = pruned(names, chunks)
    included = {key: name for key, name in names.items() if key not in left_out}
    groups = Groups(included, [*apart, *homonyms])
    mark_contexts(included)
    if settings.aliases:
        _join_persons(included, groups)
        _join_acronyms(included, chunks, groups)
        _join_plurals(included, groups)
    rows = [row for group in groups for row in _rows([names[key] for key in group], groups)]
    rows += [_row(names[key], None, "pruned") for key in left_out]
    rows.sort(key=itemgetter("name_key"))
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
            decided = _decided([name for name in bearers if name.is_proper_person], full)
            _join_titles(decided, groups)
            families.append((decided, full))
    for bearers, full in families:
        proper = [name for name in full if name.is_proper_person and name.person.has_capitals]
        _join_short_forms(bearers, proper, groups)


def _may_be_one(bearers: Sequence[Name], full: Sequence[Name]) -> bool:
    """Return whether a name, with and without titles, and its `full` forms may be one person."""
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
    of_full = _documents(full)
    titled = _documents(n for n in bearers if n.person.titles and not n.documents <= of_full)
    return [
        name
        for name in bearers
        if name.person.titles or not (of_full & name.documents and titled & name.documents)
    ]


def _documents(names: Iterable[Name]) -> Set[str]:
    """Return the documents that mention any of the names."""
    return set().union(*(name.documents for name in names))


def _join_titles(forms: Sequence[Name], groups: Groups) -> None:
    """Merge names that differ only by titles."""
    titled = _documents(name for name in forms if name.person.titles)
    present: defaultdict[str, list[Name]] = defaultdict(list)
    for name in forms:
        is_one = name.person.titles or not name.person.is_single
        if is_one or name.documents <= titled:
            for document in name.documents:
                present[document].append(name)
    for document in sorted(present):
        first, *others = present[document]
        for other in others:
            _join_together("title", first, other, groups)


def _join_short_forms(forms: Sequence[Name], full: Sequence[Name], groups: Groups) -> None:
    """Merge names of one word with the only person whose full name contains them."""
    if not full or {name.key for name in full} - set(groups.group(full[0].key)):
        return  # no evidence that these are one person
    documents = _documents(full)
    by_key = {name.key: name for name in forms}
    for name in sorted(forms, key=Name.rank, reverse=True):  # those without titles first
        merged = [by_key[key] for key in groups.group(name.key) if key in by_key]
        if name.person.has_capitals and _documents(merged) <= documents:
            beside = [other for other in full if name.documents & other.documents]
            _join_together("short form", name, min(beside, key=Name.rank), groups)


def _join_together(rule: str, name: Name, other: Name, groups: Groups) -> None:
    """Merge two names, with evidence from the documents that have both."""
    is_apart = any(
        documents.isdisjoint(beside.documents)
        for one, beside in ((name, other), (other, name))
        for documents in one.contexts
    )
    if is_apart or not groups.may_join(name.key, other.key):
        return
    evidence: list[str] = []
    for document in sorted(name.documents & other.documents):
        pair = name.chunks_by_document[document], other.chunks_by_document[document]
        both = pair[0] & pair[1]
        evidence += [min(both)] if both else sorted(map(min, pair))
        if len(evidence) >= _MOST_EVIDENCE:
            break
    groups.join(name.key, other.key, rule, sorted(evidence[:_MOST_EVIDENCE]))


def _join_acronyms(names: Mapping[str, Name], chunks: pa.Table, groups: Groups) -> None:
    """Merge acronyms, and names such as "Long Form (LF)", with their long forms."""
    chunk_texts = mapping(chunks, "chunk_id", "text").items()
    texts = [(text, {chunk}, "") for chunk, text in chunk_texts if "(" in text or "（" in text]
    texts += [(name.name, name.chunks, key) for key, name in names.items() if "(" in key]
    longs_of: defaultdict[str, set[str]] = defaultdict(set)  # by the letters of the acronym
    # by letters and long form: chunks that define each acronym, and names with the definition
    where_of: defaultdict[tuple[str, str], defaultdict[str, set[str]]]
    where_of = defaultdict(lambda: defaultdict(set))
    whole: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for text, where, name in texts:
        for short, long_form in explained(text):
            long = name_key(long_form).removeprefix("the ")
            meaning = letters_of(short), long
            longs_of[meaning[0]].add(long)
            where_of[meaning][name_key(short)] |= where
            whole[meaning] += [name] if name else []

    def join(key: str, full: str, where: Collection[str]) -> None:
        if not names[key].differs_in_kind(names[full]):
            groups.join(key, full, "acronym", sorted(where)[:_MOST_EVIDENCE])

    for (letters, long), shorts in sorted(where_of.items()):
        long_keys = (long, f"the {long}", *whole[letters, long])
        if full := next((key for key in long_keys if key in names), None):
            for name in whole[letters, long]:
                join(name, full, names[name].chunks)
            for short, where in sorted(shorts.items()) if len(longs_of[letters]) == 1 else ():
                if short in names and names[short].is_acronym:
                    join(short, full, where)


def _join_plurals(names: Mapping[str, Name], groups: Groups) -> None:
    """Merge noun phrases of the extractive model with their plurals in the same document."""
    for key, name in names.items():
        plural = names.get(f"{key}s", name)
        is_pair = name.is_guessed and plural.is_guessed and name.name.islower()
        if is_pair and name.documents & plural.documents:
            _join_together("plural", name, plural, groups)


def _rows(group: Sequence[Name], groups: Groups) -> Iterator[dict]:
    """Yield the rows of the names of one entity, each with the link towards the own name."""
    by_key = {name.key: name for name in group}
    own_key = min(group, key=Name.rank).key
    link_of: dict[str, tuple[str, Sequence[str]]] = {own_key: ("own", ())}
    waiting = [own_key]
    for key in waiting:
        new = {k: link for k, link in groups.links.get(key, {}).items() if k not in link_of}
        link_of |= new
        waiting += sorted(new)
    for key, link in link_of.items():
        yield _row(by_key[key], entity_id(own_key), *link)


def _row(name: Name, entity: str | None, rule: str, evidence: Sequence[str] = ()) -> dict:
    return {
        "name_key": name.key,
        "name": name.title,
        "entity_id": entity,
        "rule": rule,
        "evidence_chunk_ids": list(evidence),
        "apart_document_ids": [min(documents) for documents in name.contexts],
        "n_mentions": name.spellings.total(),
    }
