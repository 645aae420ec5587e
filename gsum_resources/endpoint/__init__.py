"""Client of servers that speak the OpenAI protocol: connections, limits, retries, a secret key.

`client.py` sends requests, `failures.py` classifies answers other than 200, `rate_limit.py`
enforces requests and tokens per minute, `key.py` reads and hides the key, and `background.py` is
the thread that runs the client.
"""

from gsum_resources.endpoint.client import Answer, Endpoint
from gsum_resources.endpoint.failures import EndpointError
from gsum_resources.endpoint.key import read_key

__all__ = ["Answer", "Endpoint", "EndpointError", "read_key"]
