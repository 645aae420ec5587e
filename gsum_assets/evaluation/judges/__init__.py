"""Language models as judges: which of two answers is better, and how good one is.

What is judged, with its source:

- `pairwise.py`: two methods' answers to one question by comprehensiveness, diversity, empowerment
  and directness (GraphRAG, arXiv 2404.16130, section 3), relevance (LightPAL) and overall
  (LightRAG, arXiv 2410.05779). Both orders, several repeats.
- `ratings.py`: G-Eval's consistency and relevance, 1 to 5 (Liu et al., 2023, as used for
  graph-augmented ODMDS, appendix D), and LLM-Rater's LR-1 and LR-2 (ReadAgent, arXiv 2402.09727,
  as used for JERR).
- `win_rates.py`, `position_bias.py`, `rating_scores.py`: what the verdicts amount to;
  `own_judge.py`: whether a model judged its own answers.

How a verdict is read: `verdicts.py` takes it from the checked structure of the reply alone, and
only if it carries the mark of its request (`material.py`), which no text that is judged can know.
A reply without such a verdict is counted as unparsed: never a tie, never a score.

Departures:

- One call asks for all pairwise criteria (as LightRAG does); GraphRAG makes one a criterion, as
  the setting `one_criterion_per_call` does.
- Relevance of a pair is towards the question; LightPAL's towards the reference summary. What of
  the references an answer covers is G-Eval's relevance here.
- Two answers with the same words are a tie without a call; such ties count in win rates, and not
  in the position bias, which is the judge's.
- A question counts in a win rate once it has verdicts in both orders: with one order alone the
  place of an answer would count as its quality.
- G-Eval reads consistency against the passages that the answer was written from (the paper: the
  relevant documents), cut to a budget (`share_shown` is what was shown), and relevance against
  question and references. The rating is the number given, not weighted by token probabilities,
  which many servers do not tell. It is 1 to 5 as in the paper's prompts; its text says 0 to 5.
- LR-2 counts an answer that LR-1 accepts, whatever the permissive question gave.
- Where an answer has several samples, the first is judged.
"""
