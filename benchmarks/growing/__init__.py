"""What growing costs: a change of a corpus, a large one, and what was planned beside what was used."""
