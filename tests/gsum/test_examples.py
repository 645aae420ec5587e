"""The examples in docstrings and in docs/library.md give what stands there."""

import doctest
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gsum

HOW = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = ["gsum", *(f"gsum.{module.name}" for module in pkgutil.iter_modules(gsum.__path__))]
PAGE = Path(__file__).parents[2] / "docs" / "library.md"


@pytest.mark.usefixtures("in_harbour")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(import_module(name), optionflags=HOW).failed == 0


@pytest.mark.usefixtures("in_harbour")
def test_examples_of_the_page() -> None:
    text = PAGE.read_text().replace("```\n", "\n")  # else a fence is taken for output
    parser = doctest.DocTestParser()
    examples = parser.get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 20
    assert doctest.DocTestRunner(optionflags=HOW).run(examples).failed == 0


def test_the_record_graph_of_the_page_is_drawn(
    in_harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    page = PAGE.with_name("graph-of-records.md").read_text()
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    snippet = snippet.replace("sample-meetings", "harbour").replace("01-kickoff", "mill")
    drawn: dict[str, Any] = {}
    exec(compile(snippet, "graph-of-records.md", "exec"), drawn)
    nodes, edges = drawn["nodes"], drawn["edges"]
    assert set(drawn["graph"]) == set(nodes.index)
    assert drawn["graph"].number_of_edges() == len(edges)
    assert set(nodes.loc[edges["target_id"], "kind"]) == {"response"}  # they used the sources
    assert (in_harbour / "records.png").read_bytes().startswith(b"\x89PNG")


def test_every_public_name_has_an_example_or_is_an_error() -> None:
    found = doctest.DocTestFinder()
    for name in gsum.__all__:
        value = getattr(gsum, name)
        if isinstance(value, type) and issubclass(value, Exception):
            continue
        assert value.__doc__, name
        if not isinstance(value, type):
            assert any(one.examples for one in found.find(value)), name
