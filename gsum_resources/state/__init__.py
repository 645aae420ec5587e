"""The state database: replies, calls, requests, limits, leases."""
