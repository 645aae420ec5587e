"""Definitions of a home whose first run stalls between two requests, for a daemon and its runs."""

import time

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import pipeline_for
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from tests.cluster.ray_trials import STEP
from tests.models import HashEmbedder
from tests.pipeline.stalling_run import StallingModel, stalled


def definitions() -> object:
    """The definitions of the home in the environment."""
    home = Home.from_environment()

    def stall() -> None:
        file = stalled(home.root, STEP)
        if not file.exists():
            file.touch()
            time.sleep(600)

    overrides = {
        "embedding_model": HashEmbedder(),
        "language_model": StallingModel(home.root / "asked.log", stall),
    }
    models = Models(home.settings(), home.open_store(), TABLES["llm_calls"], overrides)
    return pipeline_for(home, models, presented=False).definitions


defs = definitions()
