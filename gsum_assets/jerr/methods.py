"""Methods by name: JERR, its searches of the graph and ablations (4.3), and baselines (4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Method:
    """Configuration of a method.

    Attributes
    ----------
    reads : the 'lines' that are most relevant, those that nodes of the 'graph' lead to, the 'pages'
        of ReadAgent, or the 'units' of LongRAG.
    search : 'tree': by the relevance of line chunks; 'published': by keywords, as in the paper;
        'pagerank': the paper's ablation.
    is_lexical : whether the relevance of a line chunk is BM25 alone.
    """

    reads: Literal["graph", "lines", "pages", "units"] = "lines"
    search: Literal["", "tree", "published", "pagerank"] = ""
    is_lexical: bool = False


METHODS: Mapping[str, Method] = {
    "jerr": Method(),
    "bm25-lines": Method(is_lexical=True),
    "jerr-search": Method("graph", "tree"),
    "jerr-published": Method("graph", "published"),
    "jerr-pagerank": Method("graph", "pagerank"),
    "readagent": Method("pages"),
    "longrag": Method("units"),
}
