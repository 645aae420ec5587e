"""The examples in docstrings and in docs/library.md give what stands there."""

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

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


def test_every_public_name_has_an_example_or_is_an_error() -> None:
    found = doctest.DocTestFinder()
    for name in gsum.__all__:
        value = getattr(gsum, name)
        if isinstance(value, type) and issubclass(value, Exception):
            continue
        assert value.__doc__, name
        if not isinstance(value, type):
            assert any(one.examples for one in found.find(value)), name
