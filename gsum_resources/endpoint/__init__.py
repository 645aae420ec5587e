"""Client of servers that speak the OpenAI protocol: connections, limits, retries, a secret key."""

from gsum_resources.endpoint.client import Answer, Endpoint
from gsum_resources.endpoint.failures import EndpointError
from gsum_resources.endpoint.key import read_key

__all__ = ["Answer", "Endpoint", "EndpointError", "read_key"]
