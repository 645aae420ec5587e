"""The warehouse: tables as Parquet files with provenance, memos, and the DuckDB catalogue."""
