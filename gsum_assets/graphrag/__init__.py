"""GraphRAG (arXiv 2404.16130): an entity graph, reports on communities, global answers.

1. `extract.py`, `chunk_graph.py`: entities, relationships and claims of each chunk with gleanings
   (2.2); `given_files.py`, `given_graph.py`: or a graph supplied with the corpus.
2. `entity_names.py`, `aliases.py`, `merge.py`, `descriptions.py`: one entity per
   name that the corpus supports, one relationship per pair, merged descriptions (2.3).
3. `communities.py`: hierarchical communities of all components (2.4).
4. `elements.py`, `reports.py`: a report on each community of some size, bottom-up (2.5), with the
   chunks that support each finding.
5. `contexts.py`, `map_reduce.py`: global answers from four levels C0 to C3, the baselines TS and SS
   (2.6, 3.3), and local answers from the neighbourhood of the nearest entities; `rank.py`.
6. `views.py`, `export.py`: views with the names of Microsoft's package, GraphML.

Questions (3.2) and judges (3.4) are those of all methods, in `evaluation/`. How this differs from
the paper: docs/graphrag.md.
"""
