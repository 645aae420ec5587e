"""Arrow's compute functions, typed as Any: they are created at import time, unseen by type
checkers.
"""

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
