"""Kinds of questions, by rules."""

import pytest

from gsum_resources.text.question_kinds import OTHERWISE, RULES, rule_of

QUESTIONS = {
    "yes_no": """
        Was the hatch closed?
        Is it true that the insurer paid or not?
        Is the pump older than the engine?
        Hat Teo die Luke geschlossen?
        Est-ce que Teo a fermé la trappe ?
    """,
    "comparison": """
        How do the two reports differ?
        What do the meetings have in common?
        Compare Marta and Ines.
        What is the difference between retrieval and generation?
        Worin unterscheiden sich die beiden Berichte?
    """,
    "themes": """
        What are the main themes of the stories?
        What was said about the hatch?
        What topics were discussed?
        What do the documents say about the kettle?
        Welche Themen wurden besprochen?
        Who said what about the budget?
    """,
    "chronology": """
        Summarize the whole meeting.
        Summarize the discussion about the remote control.
        What happened on Saturday?
        What is the plot of the story?
        Fasse die Sitzung zusammen.
        Was geschah am Samstag?
        Résume la réunion.
        How did the plan change over time?
    """,
    "list": """
        Which arguments were made?
        What arguments did Ann make against the plan?
        Which boats did they buy?
        What apples grow in the orchard?
        What repairs were agreed on?
        What are the reasons for the delay?
        List all ships.
        Can you list the ships?
        Who attended the meeting?
        Who are the members of the board?
        Who were Bram and Wren?
        Name three people who work at the ferry.
        Welche Reparaturen wurden beschlossen?
        Quelles réparations ont été décidées ?
        What options do I have for timeouts?
        What changes were made in version 2?
        What people were hurt?
    """,
    "fact": """
        Who fixed the valve?
        who paid her? (fixed, valve)
        which boat did they buy
        Do you know who paid?
        Could you tell me when the ferry left?
        What is the capital of Mongolia?
        How many pounds did the county give?
        In which year was the mill built?
        Wer hat die Pumpe bezahlt?
        Wann wurde die Mühle gebaut?
        Qui a payé la pompe ?
        Quand le moulin a-t-il été construit ?
        Which function parses a date?
        Where does Hanneke work?
    """,
    "account": """
        Who fixed the valve, and why?
        Did Ann or Bram pay?
        What went wrong with the hatch?
        Why was the ferry late?
        How was the boat repaired?
        What did Hanneke say about Bram?
        What is bootstrapping?
        What did the boats do at night?
        What does the options page show?
        Warum kam die Fähre zu spät?
        What does the timeout parameter do?
        What class handles news?
        What is the status of the case?
        What bus does he take?
        What was the group's opinion on the buttons?
        What did the team discuss about materials and energy sources?
        Why did Marta leave, and where did she go?
        Name of the boat?
        船はどこへ行った？
    """,
}


@pytest.mark.parametrize(
    ("kind", "question"),
    [(kind, q.strip()) for kind, text in QUESTIONS.items() for q in text.strip().splitlines()],
)
def test_questions_are_told_apart(kind: str, question: str) -> None:
    assert rule_of(question).kind == kind


def test_every_kind_has_one_rule_or_none() -> None:
    kinds = [rule.kind for rule in (*RULES, OTHERWISE)]
    assert sorted(kinds) == sorted(QUESTIONS)
