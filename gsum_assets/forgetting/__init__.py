"""Removal of everything that depends on a deleted document.

Tables follow the corpus folder by themselves. The memo of replies, the ledger of requests and the
previews in Dagster's log do not: `deletions` finds deleted documents, `replies` the replies that
depend on them, `folder` deletes a document from its file, `leftovers` searches a home for
sentences. `automation/forget.py` combines these.
"""
