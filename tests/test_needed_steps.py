"""Which steps a corpus needs for its methods."""

import pytest

from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.families import METHODS

STEP_OF_ASSET = {asset: declared for declared in STEPS for asset in declared.assets}


@pytest.mark.parametrize("method", METHODS.known)
def test_steps_of_other_families_are_needed_with_all_that_they_depend_on(method: str) -> None:
    """`linear-rag` reads the names of `graphrag`, which are read from its mentions."""
    family = METHODS.family_of(method).name
    needed = [declared for declared in STEPS if declared.is_needed([method])]
    for declared in needed:
        for asset in () if declared.step.aggregates_methods else declared.read_assets:
            written_by = STEP_OF_ASSET.get(asset)
            if written_by is not None and written_by.group != family:
                assert written_by.is_needed([method]), f"{declared.name} reads {asset}"
