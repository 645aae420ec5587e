"""Cost of growth: a change, a large corpus, and planned compared with actual usage."""
