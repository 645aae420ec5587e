"""Folders of all families of methods; a new family is a folder and a line here.

In each folder `family.py` declares `FAMILY`, and `tables.py` the tables that it writes.
"""

FOLDERS = (
    "gsum_assets.retrieval",
    "gsum_assets.gor",
    "gsum_assets.lightpal",
    "gsum_assets.gae",
    "gsum_assets.graphrag",
    "gsum_assets.jerr",
    "gsum_assets.evidence",
    "gsum_assets.linear_rag",
    "gsum_assets.hippo_rag",
    "gsum_assets.raptor",
)
