"""JERR (Chen et al., 2025): synopses, an acyclic graph, and tree search over it.

1. `extract.py`: a synopsis of each line chunk (3.2); facts, elements and relations of each (3.3).
2. `merge.py`, `graph.py`: equal and nearly equal elements are nodes of an acyclic graph (3.3).
3. `rank.py`: the most relevant line chunks of a question, which `jerr` reads, and rankings.
4. `search.py`, `tree_search.py`: relevant nodes of a question (3.4, appendix B), from which the
   searches read; PageRank as the ablation (4.3).
5. `contexts.py`, `reread.py`: what is shown, the look-up of line chunks to read again, and the
   passages from which the answer is written (3.4). `explain.py`: the trace of an answer.
6. `pages.py`: ReadAgent (arXiv 2402.09727); `long_units.py`: LongRAG (arXiv 2406.15319).

How this differs from the paper: docs/jerr.md.
"""
