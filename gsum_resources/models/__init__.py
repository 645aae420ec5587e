"""The configured models by kind of work, their check, and stub models for plans."""
