"""Plans: what a refresh would request of models, estimated from what is stale."""
