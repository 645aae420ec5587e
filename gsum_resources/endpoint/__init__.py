"""Client of servers that speak the OpenAI protocol: connections, limits, retries, a secret key.

`client.py` runs and retries requests, `connection.py` sends one by `openai.AsyncOpenAI`,
`failures.py` classifies answers other than 200, `outages.py` notes servers that are away,
`rate_limit.py` enforces requests and tokens per minute, `budget.py` the cost of a day, and `key.py`
reads and hides the key.
"""

from gsum_resources.endpoint.client import Answer, Endpoint
from gsum_resources.endpoint.failures import EndpointError
from gsum_resources.endpoint.key import read_key

__all__ = ["Answer", "Endpoint", "EndpointError", "read_key"]
