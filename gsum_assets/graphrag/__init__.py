"""GraphRAG (arXiv 2404.16130): an entity graph, reports on communities, global answers.

1. `extract.py`, `given_graph.py`: entities, relationships and claims of each chunk with gleanings
   (2.2), or a graph supplied with the corpus.
2. `aliases.py`, `merge.py`, `descriptions.py`: one entity per name, one relationship per pair,
merged descriptions (2.3). 3. `communities.py`: hierarchical Leiden over all components (2.4). 4.
`elements.py`, `reports.py`, `citations.py`: a report on every community, bottom-up (2.5), with the
chunks that support each finding. 5. `contexts.py`, `map_reduce.py`: global answers from four levels
C0 to C3, and the baselines TS
   and SS (2.6, 3.3); `local.py`: answers from the neighbourhood of the entities nearest to a
   question.
6. `compat.py`, `export.py`: views with the names of Microsoft's package, GraphML.

Questions (3.2) and judges (3.4) are those of all methods, in `evaluation/`.

Differences from the paper:

- Entities, relationships and claims are extracted in one request, and a gleaning is one request.
- The weight of a relationship is the number of chunks that mention it, not normalized.
- Aliases are merged where there is evidence; the paper leaves duplicates to the communities.
- Communities are found in each component and split one by one, each from its own edges and seed,
  so that a change affects only the communities concerned.
- The report of a single entity is its description, without a request.
- If all passages fit into the final prompt, there are no partial answers.
- A question about one document reads the findings of reports from that document.
"""
