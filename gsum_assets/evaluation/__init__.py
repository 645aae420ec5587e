"""From contexts to answers, scores, judgements and the leaderboard: the same for all methods."""
