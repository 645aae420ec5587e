"""Protocols of the models that methods use, and the shapes of structured replies."""
