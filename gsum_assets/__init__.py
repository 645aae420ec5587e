"""gsum: documents to graphs to answers, as Dagster assets."""

import warnings

# observed sources and multi-dimensional mappings are beta in the pinned Dagster, and tested here
warnings.filterwarnings("ignore", message=".*is currently in beta.*")
