"""LinearRAG (Zhuang et al. 2025, arXiv 2510.10114): passages joined by entities, no relations.

1. `tri_graph.py`: passages, sentences and entities with their matrices (4.1), from the entities of
   the concept graph.
2. `retriever.py`: entities of the question activate others over sentences that are similar to it
   (4.2); personalized PageRank from these and similar passages (4.3).

Written from the paper's description alone; docs/departures.md lists what differs.
"""
