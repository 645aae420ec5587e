"""Repair of QMSum's transcripts."""

import pytest

from gsum_assets.corpus.importers.qmsum import clean_turn, transcript


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("So . OK . That 's great .", "So. OK. That's great."),
        ("I 'm sure we 've , uh , said it 'll do .", "I'm sure we've, uh, said it'll do."),
        ("do n't , did n't ? You don 't .", "don't, didn't? You don't."),
        ("it 's mine , y 're his", "it's mine, y're his"),
        ("{vocalsound} {disfmarker} Right {gap} then .", "Right then."),
        ("and we {disfmarker} . So {pause} . Yes", "and we. So. Yes"),
        ("the insertions , @ @ . But {disfmarker} Uh", "the insertions. But Uh"),
        ("yes ? {gap} . Ah", "yes? Ah"),
        ("{vocalsound} . So", "So"),
        ("Mm - hmm . Forty - five , well - known", "Mm-hmm. Forty-five, well-known"),
        ("on the L_C_D_ , two T_V_s and A_A_ cells", "on the LCD, two TVs and AA cells"),
        ("the R*_S_I_ disease , A* grades", "the RSI disease, A* grades"),
        ("anti-R_S_I_ and snake_case and A_", "anti-RSI and snake_case and A"),
        (
            """you say , " Where 's it ? " And " uh - huh " , ok""",
            """you say, "Where's it?" And "uh-huh", ok""",
        ),
        ('an open " quote stays', 'an open " quote stays'),
        ("nine o ' clock", "nine o'clock"),
        ("getting—[Inaudible.]. Hefin. [Laughter.] Yes", "getting—. Hefin. Yes"),
        ("Does any Member object? [Objection.] No", "Does any Member object? [Objection.] No"),
        (
            "'Kay , the third . 'Cause we can't do it 'til then",
            "'Kay, the third. 'Cause we can't do it 'til then",
        ),
        (
            "over $1,000 a month at 9.30 ... or .5 of it",
            "over $1,000 a month at 9.30... or .5 of it",
        ),
        (
            "the 'no deal' scenario in Teachers' schools",
            "the 'no deal' scenario in Teachers' schools",
        ),
        ("{vocalsound}", ""),
        (" . {gap} - ?", ""),
        ("", ""),
    ],
)
def test_clean_turn(raw, clean):
    assert clean_turn(raw) == clean
    assert clean_turn(clean) == clean  # a clean turn stays as it is


def test_transcript_has_one_line_per_turn():
    turns = [
        {"speaker": "Project Manager", "content": "Hi\nall ."},
        {"speaker": "Marketing", "content": "{vocalsound}"},
        {"speaker": " Dr  Lin ", "content": "Hello ."},
    ]
    text, spans = transcript(turns)
    assert text == "Project Manager: Hi all.\nDr Lin: Hello."
    assert [text[start:end] for start, end in spans] == [
        "Project Manager: Hi all.",
        "",
        "Dr Lin: Hello.",
    ]
