"""Dense retrieval: inner products of the vectors of questions and chunks."""

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores, best_of_nodes

# The last bits of a matrix product depend on its shape and on the number of threads. With rounding,
# equal texts have equal scores, and ties are broken by id on every machine.
_DECIMALS = 6


class Dense:
    """Inner products with the chunk embeddings of a collection; a document has its best chunk's.

    Raises `ValueError` if the collection or the questions have no embeddings, or their dimensions
    differ.
    """

    def __init__(self, collection: Collection) -> None:
        if collection.embeddings is None:
            raise ValueError(
                f"dense: the {len(collection.chunk_ids)} chunks have no embeddings; "
                "pass the table chunk_embeddings"
            )
        self._collection = collection
        self._embeddings = collection.embeddings

    def scores(self, questions: Questions) -> Scores:
        """Return cosine similarities, -1 to 1; the vectors have unit length."""
        vectors = questions.embeddings
        if vectors is None or vectors.shape[1] != self._embeddings.shape[1]:
            shape = None if vectors is None else vectors.shape
            raise ValueError(
                f"dense: question vectors {shape} do not fit chunk vectors "
                f"{self._embeddings.shape}; embed the questions with the chunks' embedder"
            )
        if len(vectors) == 1:  # shared with what judges the question
            products = self._collection.cosines(vectors[0])[None]
        else:
            products = vectors @ self._embeddings.T
        nodes = np.round(products, _DECIMALS)  # (n_questions, n_chunks)
        return Scores(nodes, best_of_nodes(nodes, self._collection))
