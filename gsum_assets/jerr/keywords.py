"""Search keywords of questions (paper, 3.4)."""

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.schemas import Keywords
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request

_MOST = 10
_MAX_WORDS = 40  # of a reply


def ask_keywords(queries: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS) -> Result:
    """Request the keywords of all questions from `model`.

    The prompt has the retrieval text of the question, and the options of a multiple choice. If
    there is no valid reply, the keywords are the question's own words.
    """
    questions = queries.sort_by("query_id").to_pylist()
    replies = model.complete(
        [
            Request(
                task="facts",
                instructions=prompts.text("keywords"),
                passages=(question_text(row | {"text": row["retrieval_text"]}),),
                max_words=_MAX_WORDS,
                schema=Keywords,
                document_id=row["document_id"] or "",
            )
            for row in questions
        ]
    )
    rows, failures = [], []
    for row, reply in zip(questions, replies, strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, Keywords):
            stripped = (" ".join(keyword.split()) for keyword in reply.parsed.keywords)
            keywords = list(dict.fromkeys(keyword for keyword in stripped if keyword))[:_MOST]
        else:
            keywords = row["retrieval_text"].split()
            failures.append(f"question '{row['query_id']}': no keywords: {why(reply)}")
        rows.append({"query_id": row["query_id"], "keywords": keywords, **spent(reply)})
    return Result(pa.Table.from_pylist(rows, TABLES["jerr.keywords"].schema), failures)
