"""Keys of gsum's resources: other assets of a Dagster project keep theirs, `io_manager` included.

A step receives them as `context.resources.gsum_warehouse`, and so on.
"""

WAREHOUSE = "gsum_warehouse"
MODELS = "gsum_models"
SETTINGS = "gsum_settings"
