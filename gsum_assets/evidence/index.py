"""Index asset of `evidence`: sentences with their vectors."""

import pyarrow as pa

from gsum_assets.evidence.sentences import sentence_rows
from gsum_assets.method import Inputs, Step


def _sentences(inputs: Inputs) -> pa.Table:
    return sentence_rows(inputs.table("chunks"), inputs.model("embedding_model"))


INDEX = (
    Step(
        _sentences,
        {
            "sentences": "Vectors of sentences, which show where in a passage the answer is; a "
            "sentence that was embedded before is not embedded again."
        },
        ("chunks", "embedding_model"),
    ),
)
