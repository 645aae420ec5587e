"""Assets of other families that these methods read are requested with them."""

import dagster as dg

from gsum_assets.definitions import _nodes


def test_the_concept_graph_is_requested_with_the_methods_that_read_it() -> None:
    nodes = _nodes(8)

    def asked_for(*path: str) -> frozenset[str]:
        methods = nodes[dg.AssetKey(path)].methods
        assert methods is not None
        return methods

    both = {"linear-rag", "hippo-rag"}
    assert both < asked_for("graphrag", "aliases")
    assert asked_for("graphrag", "relationships") & both == {"hippo-rag"}
    assert asked_for("evidence", "sentences") & both == {"linear-rag"}
    assert not both & asked_for("graphrag", "communities")
    assert asked_for("linear_rag", "mentions") == {"linear-rag"}
