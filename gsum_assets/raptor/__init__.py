"""RAPTOR (Sarthi et al., ICLR 2024, arXiv 2401.18059): a tree of summaries over each document.

1. `clusters.py`: texts that are similar form clusters, of which a text may belong to several
   (section 3, "Clustering algorithm").
2. `tree.py`: a language model summarizes each cluster; summaries are clustered again, layer by
   layer.
3. `family.py`: passages and summaries of all layers are ranked together and read up to a number of
   tokens, the paper's collapsed tree ("Querying").

A tree covers one document. docs/departures.md lists what differs from the paper.
"""
