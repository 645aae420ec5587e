"""LightPAL (Enomoto et al., 2024), and a walk of our own: passages that others are the context of.

Step by step, with the paper's section:

- `candidates.py`: the most similar passages of each (4.1, 5.1).
- `context_scores.py`: how well a passage predicts them (4.1); the scorers are in `gsum_resources`.
- `passage_edges.py`: the best of them, three graphs (4.1; embeddings as ablation: 5.4).
- `passage_graph.py`: the graphs as they are walked.
- `published.py`: first passages and, by Personalized PageRank, their context (4.2, 5.1).
- `promptrank.py`: the slow comparison (5.1), over the same graph.
- `passage_walk.py`, `walk_trust.py`: the method `passage_walk`, ours.
- `rank.py`, `variants.py`: the methods by name.

Departures: passages are the chunks of the corpus and, at the level of documents, whole documents,
each with a graph of its own. A question about one document walks edges that lead to the best
candidates of that document. A ranking is made for one K, that of the contexts, and goes on beyond
it: initial and context passages are interleaved. The unigram scorer is relative to its background.

Where the paper leaves a choice: walks, and the paths of PromptRank, start at the initial passages
of K, at most 20 (5.1 has "the top-20 of initial passages D_init", which are 60% of K). Walks from
20 passages whatever K is would score each of the 20 above every other passage, so that they could
only re-order the initial retrieval.
"""
