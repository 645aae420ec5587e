"""Graph-augmented summarization on ODSum: retrieval, training, refinement."""
