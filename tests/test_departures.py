"""`docs/departures.md` against the code: methods, settings with their defaults, and links."""

import re
import tomllib
from typing import Any, NamedTuple

from gsum_assets.registry.families import METHODS
from gsum_resources.settings.schema import Settings
from tests.test_docs import ROOT, TEXT, reference

PAGE = TEXT[ROOT / "docs" / "departures.md"]
FAMILIES = ("gor", "gae", "lightpal", "graphrag", "jerr", "linear_rag", "hippo_rag", "raptor")
UNSET = None
OF_A_PAPER = re.compile(r"the paper\b|of the paper|authors' code|not published")


class Departure(NamedTuple):
    """A row of the table."""

    methods: str
    paper: str
    here: str
    settings: str
    why: str
    effect: str


def departures() -> list[Departure]:
    _, *rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [Departure(*map(str.strip, row[1:-1].split("|"))) for row in rows]


def named() -> dict[tuple[str, str], Any]:
    """The settings of the page by table and key, with their values; UNSET for one without."""
    found = {}
    for row in departures():
        for table, key, value in re.findall(r"`\[([\w.]+)\] (\w+)(?: = ([^`]+))?`", row.settings):
            found[table, key] = tomllib.loads(f"value = {value}")["value"] if value else UNSET
    return found


def default(table: str, key: str) -> Any:
    of_home = Settings.model_fields.get(table)
    model = type(of_home.get_default(call_default_factory=True)) if of_home else None
    field = (model or reference.corpus_sections()[table]).model_fields[key]
    return field.get_default(call_default_factory=True)


def test_every_row_names_methods_that_exist_and_says_what_is_known_of_its_effect() -> None:
    rows = departures()
    for row in rows:
        methods = re.findall(r"`([\w-]+)`", row.methods)
        assert row.methods == "all" or methods, row
        assert set(methods) <= set(METHODS.known) | set(FAMILIES), row
        assert row.paper
        assert row.here
        assert row.effect
    assert {f"`{family}`" for family in FAMILIES} <= {row.methods for row in rows}


def test_the_defaults_are_those_of_the_code() -> None:
    assert {name: default(*name) for name in named()} == named()


def test_whatever_departs_from_a_paper_by_a_setting_is_listed() -> None:
    sections = reference.corpus_sections()
    said = {
        (table, key)
        for table, model in sections.items()
        if table.split(".")[0] in FAMILIES
        for key, field in model.model_fields.items()
        if OF_A_PAPER.search(field.description or "")
    }
    said |= {("gae.rerank", "same_document")}
    assert said - named().keys() == set()
