"""Language models as judges: comparison of two answers, and ratings of single ones.

Kinds of verdicts, with their source:

- `pairwise.py`: two methods' answers to one question by comprehensiveness, diversity, empowerment
  and directness (GraphRAG, arXiv 2404.16130, section 3), relevance (LightPAL) and overall
  (LightRAG, arXiv 2410.05779). Both orders, several repeats.
- `ratings.py`: G-Eval's consistency and relevance, 1 to 5 (Liu et al., 2023, as used for
  graph-augmented ODMDS, appendix D), and LLM-Rater's LR-1 and LR-2 (ReadAgent, arXiv 2402.09727,
  as used for JERR).
- `win_rates.py`, `position_bias.py`, `rating_scores.py`: aggregates of the verdicts;
  `own_judge.py`: whether a model judged its own answers.

A verdict is taken only from the validated structure of a reply (`verdicts.py`), and only if it has
the mark of its request (`material.py`), which no judged text can know. A reply without a verdict
counts as unparsed, never as a tie or a score.

How these differ from the papers: docs/judging.md.
"""
