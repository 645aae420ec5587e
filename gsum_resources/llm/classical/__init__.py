"""Classical language work without a language model: one idea a file.

`passages` restores the order of overlapping passages, `speech` reads turns and trims
disfluencies, `sentences` splits, `vocabulary` weighs words, `ranking` and `selection` make the
summary, `keyphrases` and `question` write questions, and `entities`, `facts`, `topics` and
`relevance` serve the smaller tasks.
"""
