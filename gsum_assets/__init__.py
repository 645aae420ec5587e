"""gsum: documents to graphs to answers, as Dagster assets."""

import os
import warnings

# observed sources and multi-dimensional mappings are beta in the pinned Dagster, and tested here
warnings.filterwarnings("ignore", message=".*is currently in beta.*")

# unset, dgl's first import prints two sentences and writes ~/.dgl/config.json
os.environ.setdefault("DGLBACKEND", "pytorch")
