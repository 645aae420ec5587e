"""JERR (Chen et al., 2025): synopses, a graph without cycles, and tree search over it.

1. `synopses.py`: line chunks and a synopsis of each (3.2).
2. `extract.py`: atomic facts, core elements and relations of each synopsis (3.3).
3. `exact.py`, `simhash.py`, `merge.py`: elements that are equal, or nearly so, become one (3.3).
4. `acyclic.py`, `graph.py`: nodes, and relations between them as edges that close no cycle (3.3);
   `layers.py`, `plots.py`: a picture of it.
5. `keywords.py`, `matches.py`, `tree_search.py`, `search.py`: the nodes that matter to a question
   (3.4, appendix B); PageRank as the ablation (4.3). `order.py`, `rank.py`: rankings from them.
6. `contexts.py`, `look_up.py`, `reread.py`: what is shown, what is read again, and what the answer
   is written from (3.4). `explain.py`: how an answer came about.
7. `pages.py`: ReadAgent (arXiv 2402.09727); `long_units.py`: LongRAG (arXiv 2406.15319).

Departures:

- Facts, elements and relations of a synopsis are asked for in one request, not one for each pair.
- There is one graph for a corpus; a question about a document searches what lies in it.
- Keywords are matched in line chunks and names of nodes, not in synopses.
- A path's reward counts each keyword once, and less the later it is found, so that it is 1 at most
  and short paths win; a keyword's weight is how seldom it is.
- Children are tried best first, and only as many as a node's visits warrant; one simulation in four
  takes a new path while there is one, so that a small graph is searched in full.
- Every node is a root of the search, those that match the question best first.
- Of the best nodes those that lead to different line chunks come first.
- Beside PageRank, the ablation, there is Personalized PageRank from the nodes that match.
- ReadAgent is shown as one passage what a page holds anyway, so that each number is a pause.
"""
