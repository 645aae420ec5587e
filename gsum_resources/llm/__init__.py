"""Language models behind one protocol: the embedded ones, and servers."""
