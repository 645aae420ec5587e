"""JERR (Chen et al., 2025): synopses, a graph without cycles, and tree search over it.

1. `synopses.py`: line chunks and a synopsis of each (3.2).
2. `extract.py`: atomic facts, core elements and relations of each synopsis (3.3).
3. `exact.py`, `simhash.py`, `merge.py`: elements that are equal, or nearly so, become one (3.3).
4. `acyclic.py`, `graph.py`: nodes, and relations between them as edges that close no cycle (3.3).
5. `keywords.py`, `matches.py`, `tree_search.py`, `search.py`: the nodes that matter to a question
   (3.4, appendix B); PageRank as the ablation (4.3).
6. `look_up.py`, `reread.py`: which line chunks are read again, and what the answer is written from.
7. `pages.py`: ReadAgent (arXiv 2402.09727); `long_units.py`: LongRAG (arXiv 2406.15319).

Departures:

- Facts, elements and relations of a synopsis are asked for in one request, not one for each pair.
- There is one graph for a corpus; a question about a document searches what lies in it.
- A path's reward counts each keyword once, and less the later it is found, so that it is 1 at most
  and short paths win; a keyword's weight is how seldom it is.
- Children are tried best first, and only as many as a node's visits warrant.
"""
