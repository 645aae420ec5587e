"""Arrow's compute functions, typed as Any: type checkers do not see functions created at import."""

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
