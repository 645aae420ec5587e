"""LinearRAG (Zhuang et al. 2025, arXiv 2510.10114): passages joined by entities, no relations.

1. `tri_graph.py`: passages, sentences and entities with their matrices (4.1), from the entities of
   the concept graph.
2. `activation.py`: entities of the question activate others over sentences
   that are similar to it (4.2).
3. `retriever.py`: personalized PageRank from activated entities and similar passages (4.3).

Written from the paper's description alone. Departures:

- Entities are those of the concept graph (by rules, or by a language model where one is set) where
  the paper has spaCy's; they are linked to every sentence that holds one of their names.
- Where a question names no entity of the graph, the one that is most similar to its text stands for
  what it names; the paper compares names. No method embeds a question itself.
- What several sentences bring to an entity is not added: the largest counts. Sums exceed 1 and grow
  from round to round.
- N, how often a passage names an entity, counts sentences.
- The values of threshold, trade-off, rounds and damping are ours (`settings.py`).
"""
