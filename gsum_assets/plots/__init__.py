"""The main metrics, and the plot of quality against cost."""
