"""Failed requests to language models, from the ledger of calls."""

import duckdb
import pyarrow as pa

from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.catalogue import define_views

_LATEST = """
    SELECT document_id, error
    FROM (
        SELECT *, row_number() OVER (PARTITION BY prompt_hash ORDER BY time DESC) AS age
        FROM llm_calls
        WHERE corpus = $corpus AND asset = $asset
          AND time <= $written::TIMESTAMPTZ
    )
    WHERE age = 1 AND error IS NOT NULL
    ORDER BY time DESC
    LIMIT $n
"""


def latest_failures(inputs: CheckInputs) -> pa.Table:
    """Return `document_id` and `error` of the requests whose last call failed, latest first.

    The ledger has no methods, so only calls before the partitions were written count.
    """
    provenances = inputs.provenances().values()
    failed = sum(provenance.failed for provenance in provenances)
    if not failed:
        return pa.table(
            {"document_id": pa.array([], pa.string()), "error": pa.array([], pa.string())}
        )
    with duckdb.connect() as connection:
        define_views(connection, inputs.store, [TABLES["llm_calls"]])
        values = {
            "corpus": inputs.corpus,
            "asset": inputs.subject.name,
            "written": max(provenance.time for provenance in provenances),
            "n": failed,
        }
        return connection.sql(_LATEST, params=values).to_arrow_table()
