"""All families of methods; a new method is one line here."""

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation import prompts as answers
from gsum_assets.evaluation import question_prompts as questions
from gsum_assets.evaluation.family import Family
from gsum_assets.evaluation.judges import prompts as judges
from gsum_assets.gae.family import GAE
from gsum_assets.gor.family import GOR
from gsum_assets.graphrag.family import GRAPHRAG
from gsum_assets.jerr.family import JERR
from gsum_assets.lightpal.family import LIGHTPAL
from gsum_assets.retrieval.family import RETRIEVAL

FAMILIES: tuple[Family, ...] = (RETRIEVAL, GOR, LIGHTPAL, GAE, GRAPHRAG, JERR)

PROMPTS: dict[str, Prompts] = {
    "answers": answers.PROMPTS,
    "judges": judges.PROMPTS,
    "questions": questions.PROMPTS,
    **{family.name: family.prompts for family in FAMILIES if family.prompts},
}
"""All prompts by family; beside those of methods that of answers, judges and questions."""
