"""Set before anything is imported, here and in the processes that tests start."""

import gc
import os

# Dagster's modules and definitions are many objects that stay: to search them for garbage
# again and again took an eighth of the time.
gc.set_threshold(50_000, 20, 100)
# Threads of OpenMP that wait for one another sleep: where the parts of the tests share two cores,
# to spin took three times what there was to compute.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
