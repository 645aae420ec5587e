"""`gsum serve`: questions over HTTP, to chat clients and over MCP."""
