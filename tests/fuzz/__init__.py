"""Generated inputs: what no one would write by hand."""
