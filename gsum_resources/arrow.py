"""Arrow's compute functions: made at import time, so no type checker can see them."""

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
