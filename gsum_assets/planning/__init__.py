"""Plans: what a refresh would request of models, computed with stub models."""
