"""Removal of everything that depends on a deleted document.

Tables follow the corpus folder by themselves, and Dagster's log holds no texts. The memo of replies
and the ledger of requests do not follow: `deletions` finds deleted documents, `replies` the replies
that depend on them, `folder` deletes a document from its file, `leftovers` searches a home for
sentences. `refresh/forget.py` and `runner/forget.py` combine these.
"""
