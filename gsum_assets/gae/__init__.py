"""Graph-augmented ODMDS: clusters of a chunk graph that re-rank and refine (under way).

- `reconstruction.py`: the auto-encoder's loss over all pairs, by blocks (3.1.2, equations 6 and 7).
- `autoencoder.py`: graph convolutions and their training (3.1.2, equations 4 and 5).
- `rerank.py`: candidates gain by what their cluster found (3.1.3, equations 8 to 10).
"""
