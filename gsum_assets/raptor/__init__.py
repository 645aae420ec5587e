"""RAPTOR (Sarthi et al., ICLR 2024, arXiv 2401.18059): a tree of summaries over each document.

1. `clusters.py`: texts that are similar form clusters, of which a text may belong to several
   (section 3, "Clustering algorithm").
2. `tree.py`: a language model summarizes each cluster; summaries are clustered again, layer by
   layer.
3. `family.py`: passages and summaries of all layers are ranked together and read up to a number of
   tokens, the paper's collapsed tree ("Querying").

Departures:

- A tree covers one document, as in the paper's experiments, and a question about all documents
  searches all trees, so that an edit rebuilds one tree.
- Passages are those of all methods, 256 word pieces instead of 100.
- Neighbours and dimensions of UMAP and the least membership, which the paper leaves open, are those
  of the authors' code; the seed is ours.
- A cluster that is too long for a prompt and cannot be clustered further is cut in reading order.
- To walk down the tree layer by layer, which the paper finds worse, is not offered.
"""
