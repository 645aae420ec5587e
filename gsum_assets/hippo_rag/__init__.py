"""HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802): triples lead a walk to passages.

1. `edges.py`: phrases and passages with relation, context and synonym edges (3.2).
2. `triples.py`: relationships as texts; a question is linked with the nearest of them, among which
   a language model chooses (3.3, recognition memory).
3. `retriever.py`: personalized PageRank from the phrases of these triples and all passages (3.3).

Phrases are the entities of the concept graph, and triples its relationships. docs/departures.md
lists what differs from the paper.
"""
