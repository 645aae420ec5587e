"""GraphRAG (arXiv 2404.16130): an entity graph, reports on its communities, global answers.

1. `extract.py`, `given_graph.py`: entities, relationships and claims of each chunk,
   with gleanings (2.2), or a graph that the corpus brings along.
2. `aliases.py`, `merge.py`, `descriptions.py`: one entity for each name, one relationship for each
   pair, descriptions merged (2.3).
3. `communities.py`: hierarchical Leiden over all components (2.4).
4. `elements.py`, `reports.py`, `citations.py`: a report on every community, from the bottom up
   (2.5), each finding with the chunks that support it.
5. `contexts.py`, `map_reduce.py`: global answers from four levels C0 to C3, and the baselines TS
   and SS (2.6, 3.3); `local.py`: answers from around the entities nearest to a question.
6. `compat.py`, `export.py`: tables as Microsoft's package names them, GraphML.

Questions (3.2) and judges (3.4) are those of all methods, in `evaluation/`.

Departures:

- Entities, relationships and claims are asked for in one request, and a gleaning is one request.
- The weight of a relationship is the number of chunks that tell it, not normalized.
- Aliases are merged where there is evidence; the paper leaves duplicates to the communities.
- Communities are found component by component and parted one by one, each from its own edges and
  seed, so that a change leaves alone what it does not concern.
- A community of one entity is told by its description, without a request.
- What fits into the final prompt is answered at once, without partial answers.
- A question about one document reads what the reports find in that document.
"""
