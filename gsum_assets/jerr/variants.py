"""The methods by name: JERR, its ablations (4.3), and two baselines (4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Variant:
    """What a method does.

    Attributes
    ----------
    reads : the 'graph' of synopses, the 'lines' that BM25 ranks first, the 'pages' of ReadAgent, or
        the 'units' of LongRAG.
    search : by 'tree' search; by 'pagerank', which does not know the question, as in the paper's
        ablation; by 'ppr', Personalized PageRank from the nodes that match it; or not at all: by
        'match', what the keywords match of each node (both ours).
    n_nodes : best nodes that are read; None as the settings say.
    max_tokens : size of line chunks; None as the settings say.
    """

    reads: Literal["graph", "lines", "pages", "units"] = "graph"
    search: Literal["tree", "pagerank", "ppr", "match"] = "tree"
    n_nodes: int | None = None
    max_tokens: int | None = None


READAGENT = "readagent"

VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "jerr": Variant(),
        "jerr-pagerank": Variant(search="pagerank"),
        "jerr-ppr": Variant(search="ppr"),
        "jerr-no-search": Variant(search="match"),
        "bm25-lines": Variant(reads="lines"),
        **{f"jerr-top{n}": Variant(n_nodes=n) for n in (1, 3, 10)},
        **{f"jerr-{size}": Variant(max_tokens=size) for size in (600, 1000, 4000)},
        READAGENT: Variant(reads="pages"),
        "longrag": Variant(reads="units"),
    }
)
