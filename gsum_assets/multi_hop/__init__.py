"""What methods over entities and passages share: `graph.py`."""
