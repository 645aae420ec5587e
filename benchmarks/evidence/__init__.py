"""Training of the weights of `evidence`, and what the method finds and answers on QMSum."""
