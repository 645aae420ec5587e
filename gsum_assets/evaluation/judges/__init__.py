"""Language models as judges: comparison of two answers, and ratings of single ones.

A verdict counts only if a reply has its validated structure and the mark of its request, which no
judged text can know; a reply without a verdict is unparsed, never a tie or a score.
"""
