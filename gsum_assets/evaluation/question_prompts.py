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

_POINTS = """\
Each point is one sentence that is understood alone, says one thing, stands in the passages, and
has the numbers of the passages that support it. Leave out what the question says already.\
"""

DATA_LOCAL = f"""\
Below are neighbouring passages of one document in a collection. Write a question that they answer
and that somebody could ask who has not seen them: it names what it is about, never mentions a
passage, and needs nothing else of the collection. It is one sentence that ends in a question mark.
Then list the points, one to four, that a right answer makes. {_POINTS}\
"""

DATA_GLOBAL = f"""\
Below are passages of different documents of a collection, or of distant parts of one, with a
subject that they share. Write a question on this subject that takes all of them to answer: what
recurs, differs, develops or adds up. No passage settles it alone, and it mentions none. It is one
sentence that ends in a question mark. Then list the points, three to eight, that a right answer
makes. {_POINTS}\
"""

ACTIVITY_LOCAL = f"""\
Below are neighbouring passages of one document in a collection, a person who works with this
collection, and a task of theirs. Write a question that this person would ask for this task and
that the passages answer. It names what it is about, mentions no passage, person or task, and is
one sentence that ends in a question mark. Then list the points, one to four, that a right answer
makes. {_POINTS}\
"""

PROMPTS = Prompts(
    {
        "personas": Prompt(PERSONAS, writes=True),
        "tasks": Prompt(TASKS, writes=True),
        "questions": Prompt(QUESTIONS, writes=True),
        "data_local": Prompt(DATA_LOCAL, writes=True),
        "data_global": Prompt(DATA_GLOBAL, writes=True),
        "activity_local": Prompt(ACTIVITY_LOCAL, writes=True),
    }
)
