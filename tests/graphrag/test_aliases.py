"""Names become one entity where the corpus says so, and nowhere else."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.aliases import entity_id, resolve
from gsum_assets.graphrag.homonyms import names_apart
from gsum_assets.graphrag.name_forms import explained
from gsum_assets.graphrag.settings import MergingSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.extractive import NAME as EXTRACTIVE

Corpus = dict[str, list[str]]
"""Document to its chunks, each as its names separated by semicolons: `Lin; York:place`.
A name without a type is a person."""


def mentions_of(corpus: Corpus, model: str = "m") -> pa.Table:
    rows = []
    for document, chunks in corpus.items():
        for index, names in enumerate(chunks):
            for mention in filter(None, names.split("; ")):
                name, _, kind = mention.partition(":")
                where = {"chunk_id": f"{document}{index}", "document_id": document}
                kind = {"": "person", "?": ""}.get(kind, kind)
                own = {"name_key": name_key(name), "name": name, "type": kind, "model": model}
                rows.append(own | where)
    columns = ("name_key", "name", "type", "chunk_id", "document_id", "model")
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in columns]))


def chunks_of(texts: dict[str, str]) -> pa.Table:
    n = len(texts)
    columns = {"chunk_id": list(texts), "document_id": ["d"] * n, "position": list(range(n))}
    return pa.table(columns | {"text": pa.array(list(texts.values()), pa.string())})


def rows_of(corpus: Corpus, texts: dict[str, str] | None = None, **settings) -> dict[str, dict]:
    found = resolve(mentions_of(corpus), chunks_of(texts or {}), MergingSettings(**settings))
    assert found.schema == TABLES["graphrag.aliases"].schema
    keys = found["name_key"].to_pylist()
    assert keys == sorted(keys)
    assert {key.partition(" [")[0] for key in keys} == set(
        mentions_of(corpus)["name_key"].to_pylist()
    )
    return {row["name_key"]: row for row in found.to_pylist()}


def merged(rows: dict[str, dict]) -> set[frozenset[str]]:
    """The groups of several names."""
    groups: dict[str, set[str]] = {}
    for key, row in rows.items():
        groups.setdefault(row["entity_id"], set()).add(key)
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def groups(*names: str) -> set[frozenset[str]]:
    return {frozenset(group.split("; ")) for group in names}


def test_title_is_removed_if_one_document_has_both_names() -> None:
    rows = rows_of({"a": ["Dr Lin", "Lin; Ann", "Lin"], "b": ["Dr Lin"]})
    assert merged(rows) == groups("dr lin; lin")
    lin = {"name_key": "lin", "name": "Lin", "entity_id": entity_id("dr lin"), "rule": "title"}
    assert rows["lin"] == lin | {
        "evidence_chunk_ids": ["a0", "a1"],
        "apart_document_ids": [],
        "n_mentions": 2,
    }
    ann = {"name_key": "ann", "name": "Ann", "entity_id": entity_id("ann"), "rule": "own"}
    assert rows["ann"] == ann | {
        "evidence_chunk_ids": [],
        "apart_document_ids": [],
        "n_mentions": 1,
    }


@pytest.mark.parametrize(
    ("corpus", "apart", "expected"),
    [
        (  # a judge and a baker
            {"a": ["Judge Anna Berg; Anna Berg; Hask:place"], "b": ["Anna Berg; Lund:place"]},
            {"anna berg": ["a", "b"]},
            groups(),
        ),
        (  # a firm and a ship
            {"a": ["Kestrel:thing; Varn:place"], "b": ["Kestrel:organization; Mia Krog"]},
            {"kestrel": ["a", "b"]},
            groups(),
        ),
        # beside a common name, also over another document, is one person
        (
            {"a": ["Judge Anna Berg; Anna Berg; Hask:place"], "b": ["Anna Berg; Hask:place"]},
            {},
            groups("anna berg; judge anna berg"),
        ),
        (
            {
                "a": ["Dr Anna Berg; Anna Berg; Hask:place"],
                "b": ["Anna Berg; Trell:place"],
                "c": ["Anna Berg; Hask:place", "Anna Berg; Trell:place"],
            },
            {},
            groups("anna berg; dr anna berg"),
        ),
        # both names in each context; no context; a namesake is none; a common noun
        (
            {
                "a": ["Dr Anna Berg; Anna Berg; Hask:place"],
                "b": ["Dr Anna Berg; Anna Berg; Trell:place"],
            },
            {"anna berg": ["a", "b"], "dr anna berg": ["a", "b"]},
            groups("anna berg; dr anna berg"),
        ),
        ({"a": ["Anna Berg; Hask:place"], "b": ["Anna Berg"]}, {}, groups()),
        ({"a": ["Anna Berg; Tom Berg"], "b": ["Anna Berg; Anna Holm"]}, {}, groups()),
        ({"a": ["bread:concept; Hask:place"], "b": ["bread:concept; Trell:place"]}, {}, groups()),
    ],
)
def test_names_whose_contexts_are_apart_are_marked_and_not_merged(
    corpus: Corpus, apart: dict[str, list[str]], expected: set[frozenset[str]]
) -> None:
    rows = rows_of(corpus)
    marked = {key: row["apart_document_ids"] for key, row in rows.items()}
    assert {key: documents for key, documents in marked.items() if documents} == apart
    assert merged(rows) == expected
    unmerged = rows_of(corpus, aliases=False)
    assert {key: row["apart_document_ids"] for key, row in unmerged.items()} == marked


def test_a_question_names_what_may_be_several() -> None:
    found = resolve(
        mentions_of({"a": ["Anna Berg; Ann; Hask:place"], "b": ["Anna Berg; Ann; Lund:place"]}),
        chunks_of({}),
        MergingSettings(apart=[["Anna Berg", "Ann"]]),
    )
    assert names_apart("What did Judge ANNA BERG say?", found) == {}
    row = {**found.to_pylist()[0], "name_key": "kestrel [place]", "name": "Kestrel"}
    marked = pa.Table.from_pylist([row | {"apart_document_ids": ["x", "y"]}], found.schema)
    assert names_apart("Who built the Kestrel?", marked) == {"Kestrel": ["x", "y"]}
    assert names_apart("Who built the Kestrels?", marked) == {}
    assert names_apart("Who built the Kestrel?", marked.drop(["apart_document_ids"])) == {}


TITLED = ("Dr. Lin", "Doctor Lin", "Prof. Dr. Lin", "MISS LIN", "capt. lin", "Dr.Lin", "Lin, PhD")


@pytest.mark.parametrize("titled", [*TITLED, "Frau Lin", "Sir Lin"])
def test_titles_in_many_spellings(titled: str) -> None:
    assert merged(rows_of({"a": [f"{titled}; Lin"]})) == groups(f"{name_key(titled)}; lin")


NOT_PERSONS = "Smith College:organization; Port Smith:place; Smith Day:event; smith hammer:thing"


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        ({"a": ["Dr Ann Lee; Ann Lee"], "b": ["Ann Lee"]}, ["dr ann lee; ann lee"]),
        # others than persons are no rivals
        ({"a": [f"John Smith; Smith; {NOT_PERSONS}"]}, ["john smith; smith"]),
        # particles and apostrophes are no descriptions
        (
            {"a": ["Vincent van Gogh; Gogh; Charles d'Artagnan; Charles"]},
            ["vincent van gogh; gogh", "charles d'artagnan; charles"],
        ),
        # chains end in one entity
        (
            {"a": ["Mr John Smith; Smith; Mr Smith; John Smith"]},
            ["mr john smith; john smith; mr smith; smith"],
        ),
        (
            {"a": ["Mei Lin; Lin", "Dr Lin; Lin"], "b": ["Mei Lin; Mei"]},
            ["mei lin; lin; dr lin; mei"],
        ),
    ],
)
def test_names_of_one_person(corpus: Corpus, expected: list[str]) -> None:
    assert merged(rows_of(corpus)) == groups(*expected)


@pytest.mark.parametrize(
    ("why", "corpus"),
    [
        # titles
        ("in different documents", {"a": ["Dr Lin"], "b": ["Lin"]}),
        ("one of its documents has another", {"a": ["Dr Lin; Lin"], "b": ["Lin"]}),
        ("two titles, two persons", {"a": ["Mr Lin; Mrs Lin; Lin"]}),
        ("two offices, two persons", {"a": ["Dr Lin; Captain Lin; Lin"]}),
        ("two titles in two documents", {"a": ["Dr Lin; Lin"], "b": ["Mrs Lin"]}),
        ("a rival that only a relationship names", {"a": ["Dr Lin; Lin; Mrs Lin:?"]}),
        ("not a person", {"a": ["Dr Pepper:thing; Pepper"]}),
        ("more often a place", {"a": ["President Lin; Lin", *["Lin:place"] * 4]}),
        ("titles alone", {"a": ["Captain; Doctor; Dr; Mr President; President; the Captain"]}),
        ("an office is no title", {"a": ["President of France; Mayor of France; of France"]}),
        ("an initial", {"a": ["Professor A; A; Professor B; B"]}),
        ("husband and wife", {"a": ["Mr John Smith; Mrs John Smith; John Smith"]}),
        ("a pronoun", {"a": ["Mr He; He; Mr You; you"]}),
        # short forms
        ("two Smiths", {"a": ["John Smith; Mary Smith; Smith"]}),
        ("two Smiths in two documents", {"a": ["John Smith; Smith"], "b": ["Mary Smith"]}),
        ("first of one, last of another", {"a": ["Lin Chen; Mei Lin; Lin"]}),
        ("a document without the longer name", {"a": ["Mei Lin; Lin"], "b": ["Lin"]}),
        ("father and son", {"a": ["John Smith; John Smith Jr.; Smith"]}),
        ("a rival that only a relationship names", {"a": ["John Smith; Mary Smith:?; Smith"]}),
        ("a rival of a vague type", {"a": ["John Smith; Mary Smith:thing; Smith"]}),
        ("husband or wife", {"a": ["Jane Smith; Mr Smith"]}),
        ("husband, wife, or either", {"a": ["Jane Smith; Mr Smith; Smith"]}),
        ("a month", {"a": ["Jo March; March:concept", "March:event"]}),
        ("a place", {"a": ["George Lin; Lin", *["Lin:place"] * 4]}),
        ("only a place is longer", {"a": ["Lake Lin:place; Lin"]}),
        ("the family", {"a": ["Lin; Lin Family"]}),
        ("a description", {"a": ["Lin; mother of Lin; Lin's mother; the Lin woman; Lin woman"]}),
        ("the other Lin", {"a": ["Lin; Old Lin"]}),
        ("a pronoun", {"a": ["He Ling; He; he"]}),
        ("a title", {"a": ["Queen Ann; Queen; King Lear; King"]}),
        ("a number", {"a": ["Speaker 2; Speaker"]}),
        ("a middle name", {"a": ["Martin Luther King; Luther"]}),
        ("a part of a word", {"a": ["Ann-Lin Moe; Lin; Ann"]}),
        ("two full names", {"a": ["Mei Lin; Lin"], "b": ["Dr Mei Lin; Lin"]}),
        ("no titles for Mei", {"a": ["Mei Lin; Lin; Dr Lin"], "b": ["Dr Lin"]}),
    ],
)
def test_ambiguous_names_stay_apart(why: str, corpus: Corpus) -> None:
    assert merged(rows_of(corpus)) == set(), why


def test_short_form_belongs_to_the_only_longer_name() -> None:
    rows = rows_of({"a": ["Mei Lin; Boat:thing", "Lin", "Mei"], "b": ["Mei Lin"]})
    assert merged(rows) == groups("mei lin; lin; mei")
    assert [rows[key]["rule"] for key in ("mei lin", "lin", "mei")] == ["own", *["short form"] * 2]
    assert rows["lin"]["evidence_chunk_ids"] == ["a0", "a1"]
    assert rows["mei"]["evidence_chunk_ids"] == ["a0", "a2"]
    rows = rows_of({document: ["", "Lin; Mei Lin", "Lin"] for document in "gfedcba"})
    assert rows["lin"]["evidence_chunk_ids"] == ["a1", "b1", "c1", "d1", "e1"]


TVA = "Tennessee Valley Authority"


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        (f"The {TVA} (TVA) built dams.", "TVA", TVA),
        (f"The TVA ({TVA}) built dams.", "TVA", TVA),
        (f"the {TVA} (the “TVA”)", "TVA", TVA),
        (f"the '{TVA}' (hereafter TVA, or T.)", "TVA", TVA),
        (f"{TVA} (T.V.A.) built", "T.V.A", TVA),
        (f"TVA ({TVA}, founded in 1933)", "TVA", TVA),
        ("the Tennessee\n Valley Authority(TVA)", "TVA", "Tennessee\n Valley Authority"),
        ("the Department of Defense (DoD)", "DoD", "Department of Defense"),
        ("at Bank of America (BOA)", "BOA", "Bank of America"),
        ("at Bank of America (BA)", "BA", "Bank of America"),
        ("of the Order of Oman (OO)", "OO", "Order of Oman"),
        ("The Nature Conservancy (TNC)", "TNC", "The Nature Conservancy"),
        ("all Non-Governmental Organizations (NGOs)", "NGOs", "Non-Governmental Organizations"),
        ("Research & Development (R&D)", "R&D", "Research & Development"),
        ("École Nationale d'Administration (ENA)", "ENA", "École Nationale d'Administration"),
        ("Организация Объединённых Наций（ООН）", "ООН", "Организация Объединённых Наций"),
        (
            "UNESCO (United Nations Educational, Scientific and Cultural Organization)",
            "UNESCO",
            "United Nations Educational, Scientific and Cultural Organization",
        ),
    ],
)
def test_text_explains_an_acronym(text: str, short: str, long: str) -> None:
    assert list(explained(text)) == [(short, long)]


@pytest.mark.parametrize(
    "text",
    [
        "The authority of the valley in Tennessee (TVA)",
        "Valley Authority (TVA) and Tennessee",
        "It was Tennessee. Valley Authority (TVA)",
        "he told us (us) and them (T)",
        "the boat (old) and (1998) and (a) and () and ((",
        "TVA (the dam builder of the valley)",
        f"XTVA ({TVA}) and {TVA} (TVB)",
        f"{TVA} built dams (TVA)",
        "世界卫生组织（世卫）",
        "",
    ],
)
def test_text_without_explanation(text: str) -> None:
    assert list(explained(text)) == []


@given(st.text(st.sampled_from("AaBb-.&'( )（）of,1\n"), max_size=80))
def test_explanation_is_found_in_the_text(text: str) -> None:
    for short, long in explained(text):
        assert short in text
        assert long in text
        assert long.strip() == long != ""


US = "The United States (US) told us."
ORGANIZATIONS: Corpus = {"a": [f"{TVA}:organization"], "b": ["TVA:organization", "TVA:?"]}
SAYS = {"a0": f"The {TVA} (TVA).", "z9": f"TVA ({TVA}).", "b0": "TVA (no more)."}


def test_acronym_is_merged_with_its_explanation_in_a_chunk() -> None:
    row = rows_of(ORGANIZATIONS, SAYS)["tva"]
    assert (row["entity_id"], row["rule"]) == (entity_id(TVA.lower()), "acronym")
    assert row["evidence_chunk_ids"] == ["a0", "z9"]
    assert merged(rows_of(ORGANIZATIONS, {"a0": f"The {TVA}. The TVA."})) == set()


@pytest.mark.parametrize(
    ("corpus", "text", "n_merged"),
    [
        ({"a": ["United States:place; US:place; US:place"]}, US, 1),
        ({"a": ["United States:place; us:person; US:place"]}, US, 0),  # a pronoun
        ({"a": ["United States:place; us"]}, US, 0),
        (
            {"a": ["Nature Conservancy:organization; TNC:organization"]},
            "The Nature Conservancy (TNC)",
            1,
        ),
        (ORGANIZATIONS, "It is a Two Valve Amplifier (TVA).", 0),
        (ORGANIZATIONS, "It is a Two Valve Amplifier (T.V.A.).", 0),
        ({"a": [f"{TVA}:organization; TVA; Lin"]}, "", 0),
        ({"a": [f"{TVA}:organization; tva:organization"]}, "", 0),
        ({"a": [f"{TVA}:organization"]}, "", 0),
        ({"a": ["TVA:organization"]}, "", 0),
    ],
)
def test_acronym_is_merged_unless_ambiguous(corpus: Corpus, text: str, n_merged: int) -> None:
    assert len(merged(rows_of(corpus, SAYS | {"c0": text}))) == n_merged


def test_homonyms_of_different_types_are_two_entities() -> None:
    corpus = {"a": ["George Washington; Washington"], "b": ["Washington:place", "Washington:geo"]}
    rows = rows_of({**corpus, "c": ["Washington:organization; Washington:concept; Washington:?"]})
    assert merged(rows) == groups("george washington; washington [person]")
    assert rows["washington [person]"]["name"] == "Washington (person)"
    assert rows["washington [person]"]["rule"] == "short form"
    assert rows["washington"]["name"] == "Washington"
    assert rows["washington"]["n_mentions"] == 5
    assert rows["washington"]["entity_id"] == entity_id("washington")


@pytest.mark.parametrize(
    ("why", "corpus"),
    [
        ("types beside proper names", {"a": ["Lin", "Lin:concept", "Lin:thing", "Lin:other"]}),
        ("a body and its seat", {"a": ["Mill:place", "Mill:organization", "Mill:location"]}),
        ("one error in five", {"a": ["Lin", "Lin", "Lin", "Lin", "Lin:place"]}),
    ],
)
def test_noise_of_types_is_one_entity(why: str, corpus: Corpus) -> None:
    assert len(rows_of(corpus)) == 1, why


def test_types_guessed_by_the_extractive_model_separate_nothing() -> None:
    guessed = mentions_of({"a": ["Wren", "Wren:place"]}, EXTRACTIVE)
    found = resolve(guessed, chunks_of({}), MergingSettings())
    assert found["name_key"].to_pylist() == ["wren"]


@pytest.mark.parametrize(("other", "n_entities"), [("a", 1), ("b", 2)])
def test_plurals_of_the_extractive_model_are_merged_within_documents(
    other: str, n_entities: int
) -> None:
    corpus: dict[str, list[list[str]]] = {document: [[], [], []] for document in "ab"}
    for position in (0, 2):
        corpus["a"][position].append("bilge pump:concept")
        corpus[other][position].append("bilge pumps:concept")
    mentions = mentions_of(
        {d: ["; ".join(own) for own in c] for d, c in corpus.items()}, EXTRACTIVE
    )
    chunks = chunks_of({f"{document}{i}": "" for document in "ab" for i in range(3)})
    found = resolve(mentions, chunks, MergingSettings())
    assert len(set(found["entity_id"].to_pylist())) == n_entities
    assert found["entity_id"].null_count == 0


def test_name_may_contain_its_acronym() -> None:
    corpus = {"a": [f"{TVA} (TVA):organization"], "b": ["TVA:organization"]}
    rows = rows_of(corpus)
    whole = name_key(f"{TVA} (TVA)")
    assert merged(rows) == {frozenset({whole, "tva"})}
    assert rows["tva"]["evidence_chunk_ids"] == ["a0"]
    with_long = rows_of(corpus | {"c": [f"{TVA}:organization"]})
    assert merged(with_long) == {frozenset({whole, "tva", TVA.lower()})}
    assert with_long[whole]["entity_id"] == entity_id(TVA.lower())
    other = "Two Valve Amplifier (TVA)"
    ambiguous = rows_of(corpus | {"c": [f"{TVA}:organization", f"{other}:thing"]})
    assert merged(ambiguous) == {frozenset({whole, TVA.lower()})}


def test_most_frequent_spelling_is_the_name_and_ties_use_the_smallest() -> None:
    rows = rows_of({"a": ["LIN; Boat:thing", "Lin; boat:thing", "Lin"]})
    assert (rows["lin"]["name"], rows["lin"]["n_mentions"]) == ("Lin", 3)
    assert rows["boat"]["name"] == "Boat"


CHAIN: Corpus = {"a": ["Mei Lin; Lin", "Dr Lin; Lin"]}


def test_settings_disable_merging_or_keep_names_apart() -> None:
    assert merged(rows_of(CHAIN)) == groups("mei lin; lin; dr lin")
    off = rows_of(CHAIN, aliases=False)
    assert merged(off) == set()
    assert {row["rule"] for row in off.values()} == {"own"}
    assert merged(rows_of(CHAIN, apart=[(" LIN", "“Dr Lin”")])) == groups("mei lin; lin")
    assert merged(rows_of(CHAIN, apart=[("Mei Lin", "Lin")])) == groups("dr lin; lin")
    apart = [("Mei Lin", "Lin"), ("Dr Lin", "Lin")]
    assert merged(rows_of(CHAIN, apart=apart)) == groups("mei lin; dr lin")
    assert merged(rows_of(CHAIN, apart=[("Nobody", "Lin")])) == groups("mei lin; lin; dr lin")


NAMES = ["Lin", "Dr Lin", "Mei Lin", "Mei", "Mr Lin", "Jun Lin", "lin", "TVA", "TVA:place"]
NAMES += [f"{TVA}:organization", f"{TVA} (TVA)", "Two Valve Amplifier:thing", "Lin:place", "Lin:?"]
TEXTS = ["", f"{TVA} (TVA)", "TVA (Two Valve Amplifier)", "Mei Lin (ML)"]


@st.composite
def corpora(draw: st.DrawFn) -> tuple[Corpus, dict[str, str]]:
    chunks = st.lists(st.lists(st.sampled_from(NAMES), max_size=4).map("; ".join), max_size=3)
    corpus = draw(st.dictionaries(st.sampled_from("abcd"), chunks, max_size=4))
    texts = draw(st.dictionaries(st.sampled_from(["a0", "b1", "c2"]), st.sampled_from(TEXTS)))
    return corpus, texts


@given(corpora(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(tables, random) -> None:
    mentions, chunks = mentions_of(tables[0]), chunks_of(tables[1])
    found = resolve(mentions, chunks, MergingSettings())
    assert resolve(shuffled(mentions, random), shuffled(chunks, random), MergingSettings()) == found


def shuffled(table: pa.Table, random) -> pa.Table:
    return table.take(pa.array(np.array(random.sample(range(len(table)), len(table)), np.int64)))


@given(corpora(), st.lists(st.tuples(*[st.sampled_from(NAMES)] * 2), max_size=3))
def test_names_apart_are_never_one_entity(tables, apart: list) -> None:
    pairs = [tuple(name.partition(":")[0] for name in pair) for pair in apart]
    rows = rows_of(*tables, apart=pairs)
    for keys in {tuple(map(name_key, pair)) for pair in pairs}:
        if len(set(keys)) == 2 and rows.keys() >= set(keys):
            assert rows[keys[0]]["entity_id"] != rows[keys[1]]["entity_id"]
    assert all(len(row["evidence_chunk_ids"]) <= 5 for row in rows.values())
