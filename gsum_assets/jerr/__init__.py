"""JERR (Chen et al., 2025): synopses, an acyclic graph, and tree search over it.

1. `synopses.py`: line chunks and a synopsis of each (3.2).
2. `extract.py`: atomic facts, core elements and relations of each synopsis (3.3).
3. `simhash.py`, `merge.py`: merging of equal and nearly equal elements (3.3).
4. `acyclic.py`, `graph.py`: nodes, and relations as edges of an acyclic graph (3.3); `layers.py`,
   `plots.py`: a plot of it.
5. `lines.py`: the most relevant line chunks of a question, which `jerr` reads.
6. `keywords.py`, `matches.py`, `tree_search.py`, `search.py`: relevant nodes of a question (3.4,
   appendix B), which the other methods read; PageRank as the ablation (4.3). `order.py`, `rank.py`:
   rankings from them.
7. `contexts.py`, `look_up.py`, `reread.py`: contexts, look-up of line chunks to read again, and the
   passages from which the answer is written (3.4). `explain.py`: the trace of an answer.
8. `pages.py`: ReadAgent (arXiv 2402.09727); `long_units.py`: LongRAG (arXiv 2406.15319).

How this differs from the paper: docs/jerr.md.
"""
