"""A resident service over the indexes of a home: an API, a chat protocol and a page."""
