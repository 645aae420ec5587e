"""The home as a Dagster resource: where its files are."""

import dagster as dg
from pydantic import Field

from gsum_resources.dagster_io.instance import refuse_run_in_temporary_instance
from gsum_resources.dagster_io.overrides import OverrideError
from gsum_resources.dagster_io.warehouse_io import WarehouseIO


def home_resource(warehouse: WarehouseIO) -> dg.ConfigurableIOManagerFactory:
    """Return the resource that gives each run the warehouse, except in a temporary instance."""
    home = warehouse.home

    class GsumHome(dg.ConfigurableIOManagerFactory):
        """The home whose tables are read and written. It is that of the code location: a run
        cannot replace it, since requests, run log and settings belong to it.
        """

        root: str = Field(default=str(home.root), description="folder of the home: GSUM_HOME")
        warehouse: str = Field(
            default=home.warehouse,
            description="folder or URL of the Parquet files: GSUM_WAREHOUSE",
        )
        corpora: str = Field(
            default=str(home.corpora), description="folder or URL of the corpora: GSUM_CORPORA"
        )
        settings: str = Field(
            default=str(home.settings_file), description="file or URL of gsum.toml: GSUM_SETTINGS"
        )

        def create_io_manager(self, context: dg.InitResourceContext) -> WarehouseIO:
            for name, field in type(self).model_fields.items():
                if (value := getattr(self, name)) != field.default:
                    raise OverrideError(
                        f"gsum_warehouse: {name} is '{value}' in the configuration of this run; a "
                        f"run works in the home of its code location, '{field.default}': start "
                        "another one with GSUM_HOME"
                    )
            if context.instance is not None:
                refuse_run_in_temporary_instance(context.instance, home)
            return warehouse

    return GsumHome()
