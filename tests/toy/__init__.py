"""Methods that only tests know."""
