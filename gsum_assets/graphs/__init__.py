"""What several methods do with graphs: building, PageRank, communities."""
