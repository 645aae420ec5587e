"""HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802): triples lead a walk to passages.

1. `edges.py`: phrases and passages with relation, context and synonym edges (3.2).
2. `triples.py`: relationships as texts; a question is linked with the nearest of them, among which
   a language model chooses (3.3, recognition memory).
3. `retriever.py`: personalized PageRank from the phrases of these triples and all passages (3.3).

Departures:

- Phrases are the entities of the concept graph, and triples its relationships: those that a
  language model extracted, where one is set, with what it says of them; else pairs of names in one
  sentence, with the sentence.
- A phrase is joined with every passage that holds one of its names.
- Synonyms are looked for among the 100 nearest phrases, where the code takes 2,047.
- Our words in the prompt, without the optimized examples of the paper's; triples are numbered.
- Questions have one vector, without an instruction by use; triples and passages are embedded alike.
"""
