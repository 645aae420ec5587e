"""What all trained networks share: the documents that they learn from, and how these are stored."""

from gsum_resources.content_hash import hash_texts

DEFAULT_SPLIT = "train"


def learnt_hash(document_id: str) -> str:
    """Return the hash of a document id that a trained model stores.

    The model outlives its documents, so it must not reveal the name of a deleted one.
    """
    return hash_texts([document_id], 8)
