"""When graphs help over plain retrieval, on GraphRAG-Bench; `__main__.py` says how."""
