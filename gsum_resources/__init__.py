"""Storage and models, independent of the methods."""
