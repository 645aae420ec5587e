"""What growing costs: a change, a large corpus, and what was planned beside what was used."""
