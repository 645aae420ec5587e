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

Differences from the papers:

- One request is for all pairwise criteria (as in LightRAG); GraphRAG has one per criterion, as with
  the setting `one_criterion_per_call`.
- Relevance of a pair is relevance to the question; in LightPAL to the reference summary. Coverage
  of the references is G-Eval's relevance here.
- Two answers with the same words are a tie without a request; such ties count in win rates, but not
  in the position bias of the judge.
- A question counts in a win rate only with verdicts in both orders, to cancel the position bias.
- G-Eval's consistency is judged with the passages that the answer was written from (the paper: the
  relevant documents), cut to a budget (`share_shown` is the fraction shown), its relevance with
  question and references. The rating is the number in the reply, not weighted by token
  probabilities, which many servers do not return. It is 1 to 5 as in the paper's prompts; the
  paper's text has 0 to 5.
- LR-2 also accepts all answers that LR-1 accepts.
- If an answer has several samples, the first is judged.
"""
