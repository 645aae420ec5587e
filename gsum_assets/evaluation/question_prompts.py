"""Instructions for a language model that writes questions about a collection."""

from gsum_assets.pipeline.prompts import Prompt, Prompts

PERSONAS = """\
A collection of documents is described below. Name {n} kinds of people who would want to understand
it as a whole, each with a reason of their own. Choose them so that they look for different things
in it. Give each a short name, such as a profession or role, and one or two sentences on who they
are and what they want from the collection.\
"""

TASKS = """\
A collection of documents is described below, and a person who works with it. Name {n} tasks that
this person would use the collection for, each in one sentence. A task takes an overview of the
collection, such as finding what recurs, comparing, weighing or explaining developments, and no
single document settles it. Let the tasks differ from one another.\
"""

QUESTIONS = """\
A collection of documents is described below, with a person who works with it and a task of theirs.
Write {n} questions that this person would ask for this task. Each must need an understanding of the
whole collection: its themes, patterns, disagreements, developments or differences. No question may
be answered by one passage or by looking up one fact, and none may name a thing that the
description does not name, since the collection may not hold it. Each stands on its own, in one
sentence that ends in a question mark, and does not mention the person or the task.\
"""

PROMPTS = Prompts(
    {
        "personas": Prompt(PERSONAS, writes=True),
        "tasks": Prompt(TASKS, writes=True),
        "questions": Prompt(QUESTIONS, writes=True),
    }
)
