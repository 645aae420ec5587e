"""Tools for text without a language model: one idea per file.

`passages` restores the order of overlapping passages, `speech` finds turns and trims disfluencies,
`sentences` splits, `vocabulary` weighs words, `ranking` and `selection` build the summary,
`keyphrases` and `question` write questions, and `entities`, `facts`, `topics` and `relevance` serve
the smaller tasks.
"""
