"""Methods by name: JERR, its ablations (4.3), and two baselines (4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Method:
    """Configuration of a method.

    Attributes
    ----------
    reads : the 'graph' of synopses, the 'lines' that BM25 ranks first, the 'pages' of ReadAgent, or
        the 'units' of LongRAG.
    search : 'tree': tree search; 'pagerank': independent of the question, the paper's ablation;
        'ppr': Personalized PageRank from the matching nodes; 'match': gains alone (both ours).
    n_nodes : number of best nodes in a context; None: as in the settings.
    max_tokens : size of line chunks; None: as in the settings.
    """

    reads: Literal["graph", "lines", "pages", "units"] = "graph"
    search: Literal["tree", "pagerank", "ppr", "match"] = "tree"
    n_nodes: int | None = None
    max_tokens: int | None = None


READAGENT = "readagent"

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "jerr": Method(),
        "jerr-pagerank": Method(search="pagerank"),
        "jerr-ppr": Method(search="ppr"),
        "jerr-no-search": Method(search="match"),
        "bm25-lines": Method(reads="lines"),
        **{f"jerr-top{n}": Method(n_nodes=n) for n in (1, 3, 10)},
        **{f"jerr-{size}": Method(max_tokens=size) for size in (600, 1000, 4000)},
        READAGENT: Method(reads="pages"),
        "longrag": Method(reads="units"),
    }
)
