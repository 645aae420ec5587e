"""Folders of all methods; a new method is a folder and a line here.

In each folder `method.py` declares `METHOD`, and `tables.py` the tables that it writes.
"""

FOLDERS = (
    "gsum_assets.retrieval",
    "gsum_assets.gor",
    "gsum_assets.lightpal",
    "gsum_assets.gae",
    "gsum_assets.graphrag",
    "gsum_assets.jerr",
    "gsum_assets.evidence",
)
