"""A server that speaks the OpenAI protocol: connections, limits, retries, and a key kept secret.

`client.py` sends, `failures.py` says what an answer other than 200 means, `rate_limit.py` keeps
within requests and tokens per minute, `key.py` reads and hides the key, `background.py` is the
thread that all of it runs on.
"""

from gsum_resources.endpoint.client import Answer, Endpoint
from gsum_resources.endpoint.failures import EndpointError
from gsum_resources.endpoint.key import read_key

__all__ = ["Answer", "Endpoint", "EndpointError", "read_key"]
