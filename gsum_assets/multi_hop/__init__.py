"""What methods over entities and passages share: mentions of entities, and the walk.

1. `mentions.py`: the sentences that name an entity of the concept graph.
2. `walk.py`: personalized PageRank over passages and entities, whose passages are ranked.
"""
