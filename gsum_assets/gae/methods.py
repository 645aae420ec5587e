"""Methods of the family by name: the default, the published form, and variants of the default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Clustering = Literal["leiden", "dbscan"]


@dataclass(frozen=True)
class Method:
    """The steps that a method performs.

    Attributes
    ----------
    clustering : Leiden clusters the graph, DBSCAN the embeddings of an auto-encoder; None: passages
        are not re-ranked.
    reflects : whether passages are judged and refined before the answer is written.
    is_published : edges, auto-encoder, first retrieval and weights are those of the paper.
    """

    clustering: Clustering | None = "leiden"
    reflects: bool = False
    is_published: bool = False


METHODS: Mapping[str, Method] = {
    "gae": Method(),
    "gae-no-rerank": Method(None),
    "gae-reflection": Method(reflects=True),
    "gae-published": Method("dbscan", reflects=True, is_published=True),
}
