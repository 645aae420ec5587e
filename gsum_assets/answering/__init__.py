"""From a question to an answer with its sources, for `gsum ask`, the report and the library."""
