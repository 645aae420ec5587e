"""Leaving no trace of a deleted document.

Tables follow the corpus folder by themselves. What does not is the memory of what models replied,
the record of what they were asked, and the previews in Dagster's log: `departed` tells which
documents have gone, `replies` which replies rest on them, `folder` takes a document out of its
file, `traces` searches a home for sentences. `automation/forget.py` puts these together.
"""
