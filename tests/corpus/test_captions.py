"""Captions become transcripts: words stay with their speaker, and each has its time."""

import pytest

from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from gsum_assets.corpus.conversion.worker import convert
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.sections import Locations, sections_of
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.text.speech import speaker_labels, turns

TEAMS = """\ufeffWEBVTT

STYLE
::cue { color: red }

NOTE exported by a program

6f1a9b/12-0
00:00:03.540 --> 00:00:05.000 align:start position:10%
<v Ada Brown>R&amp;D is <b>late</b>,
by 3 &lt; 4 days.</v>

6f1a9b/12-1
00:12:40.000 --> 00:12:43.000
<v Ada Brown>The {pump} &lt;think&gt; broke.</v>

6f1a9b/13-0
01:02:40.500 --> 01:02:43.000
<v.loud Ben Ito>Ben Ito: Why: rust?</v>
<v Ada Brown>Age.

6f1a9b/14-0
01:02:50.000 --> 01:02:53.000
I was not there.
"""
ZOOM = """WEBVTT

1
00:00:03.540 --> 00:00:05.000
Ada Brown: Good morning.

2
00:00:05.100 --> 00:00:09.000
Ada Brown: Let us begin: the pump.

3
00:00:10.000 --> 00:00:12.000
Ben Ito: It broke.
"""
SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
ADA: It was late

2
0:0:2,5 --> 00:00:04
<i>because the pump broke.</i>

00:00:05,000 --> 00:00:06,000 X1:10
BEN: Which pump?

4
01:00:05,000 --> 01:00:06,000
The old one.
ADA: Oh.
- Never mind.
"""
SCROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.000 align:start position:0%
\x20
we<00:00:00.400><c> need</c><00:00:00.800><c> a</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
we need a
\x20

00:00:02.010 --> 00:00:04.000 align:start position:0%
we need a
new<00:00:02.400><c> pump</c>

00:00:04.000 --> 00:00:04.010 align:start position:0%
new pump
\x20

00:00:04.010 --> 00:00:06.000 align:start position:0%
new pump
right<00:00:05.400><c> now</c>
"""


def spoken(found: Converted) -> list[tuple[str, str]]:
    """Speaker and words of each turn, as gsum's models read them."""
    return [(turn.speaker, turn.text) for turn in turns(found.text, speaker_labels([found.text]))]


def location(found: Converted, words: str, until: str = "") -> str:
    sections = sections_of("a", found.text, ".vtt", found.page_starts, found.labels)
    start = found.text.index(words)
    end = found.text.index(until or words, start) + len(until or words)
    return Locations(rows_of(TABLES["document_sections"], sections))("a", start, end)


def test_turns_of_voice_tags_have_their_speaker_and_time() -> None:
    found = convert(".vtt", TEAMS.encode())
    assert found.text.splitlines() == [
        "Ada Brown: R&D is late, by 3 < 4 days. The {pump} <think> broke.",
        "Ben Ito: Why: rust?",
        "Ada Brown: Age.",
        "Unknown Speaker: I was not there.",
    ]
    assert [speaker for speaker, _ in spoken(found)] == [
        line.partition(":")[0] for line in found.text.splitlines()
    ]
    assert location(found, "R&D is late") == "00:03"
    assert location(found, "pump") == "12:40"
    assert location(found, "R&D", "pump") == "00:03-12:40"
    assert location(found, "Age") == "1:02:40"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ada", "Ada"),
        ("John D.", "John D"),
        ("Ada Brown (Guest)", "Ada Brown"),
        ("+49 170 123", "Caller 49 170 123"),
        ("Room: North?", "Room North"),
        ("van der Berg, Jan", "van der Berg, Jan"),
        ("A &amp; B", "A and B"),
        ("one two three four five six seven", "One Two Three Four Five Six"),
    ],
)
def test_every_name_of_a_voice_tag_is_recognized_as_speaker(name: str, label: str) -> None:
    cues = [
        f"00:00:0{i}.000 --> 00:00:0{i}.900\n<v {n}>Hi.</v>\n" for i, n in enumerate(["Ben", name])
    ]
    found = convert(".vtt", "\n".join(["WEBVTT\n", *cues]).encode())
    assert spoken(found) == [("Ben", "Hi."), (label, "Hi.")]


def test_names_before_a_colon_are_speakers() -> None:
    found = convert(".vtt", ZOOM.encode())
    assert found.text.splitlines() == [
        "Ada Brown: Good morning. Let us begin: the pump.",
        "Ben Ito: It broke.",
    ]
    assert (location(found, "Let us"), location(found, "broke")) == ("00:05", "00:10")


def test_a_caption_without_name_is_not_of_the_one_before_where_all_others_have_one() -> None:
    cues = [f"00:00:{i:02d}.000 --> 00:00:{i:02d}.900\nAda: Line {i}.\n" for i in range(20)]
    stray = "00:01:00.000 --> 00:01:01.000\nWho is there?\n"
    found = convert(".vtt", "\n".join(["WEBVTT\n", *cues, stray]).encode())
    assert spoken(found)[-1] == ("Unknown Speaker", "Who is there?")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_name_holds_until_the_next_one_in_subtitles(encoding: str) -> None:
    found = convert(".srt", SUBTITLES.encode(encoding))
    assert found.text.splitlines() == [
        "ADA: It was late because the pump broke.",
        "BEN: Which pump? The old one.",
        "ADA: Oh.",
        "Unknown Speaker: Never mind.",
    ]
    assert (location(found, "because"), location(found, "The old")) == ("00:02", "1:00:05")


def test_scrolling_captions_are_read_once() -> None:
    found = convert(".vtt", SCROLLING.encode())
    assert found.text == "we need a new pump right now"
    assert location(found, "right now") == "00:04"


def test_repeated_words_of_a_meeting_are_kept() -> None:
    cues = [("Ada: Yes.", 1), ("Ada: Yes.", 2), ("Ben: No.", 3), ("Ada: Why?", 4), ("Ben: So.", 5)]
    blocks = [f"00:00:0{i}.000 --> 00:00:0{i}.900\n{text}\n" for text, i in cues]
    found = convert(".vtt", "\n".join(["WEBVTT\n", *blocks, blocks[-1]]).encode())
    assert found.text == "Ada: Yes. Yes.\nBen: No.\nAda: Why?\nBen: So."  # the last block once


def test_speech_without_names_is_divided_at_pauses() -> None:
    cues = [(0, "Welcome to"), (2, "the quay."), (9, "The pump broke.")]
    blocks = [f"00:00:{s:02d}.000 --> 00:00:{s + 2:02d}.000\n{text}\n" for s, text in cues]
    found = convert(".srt", "\n".join(f"{i}\n{b}" for i, b in enumerate(blocks, 1)).encode())
    assert found.text == "Welcome to the quay.\nThe pump broke."
    assert convert(".sbv", b"0:00:01.000,0:00:03.000\nHello\n").labels == ("00:01",)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".vtt", b""),
        (".vtt", b"WEBVTT\n"),
        (".vtt", b"WEBVTT\n\nNOTE nothing\n"),
        (".vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n \n"),
        (".srt", b"A letter.\n\nNo captions."),
        (".srt", b"1\n99:99:99:99 --> x\nHi\n"),
        (".srt", b"\xff\x00\xfe"),
    ],
)
def test_files_without_captions_are_refused(suffix: str, content: bytes) -> None:
    with pytest.raises(ConversionError, match=r"\w{3}"):
        convert(suffix, content)


def test_a_malformed_caption_costs_itself_alone() -> None:
    torn = ZOOM.replace("00:00:05.100 -->", "00:00:xx -->")
    assert convert(".vtt", torn.encode()).text == "Ada Brown: Good morning.\nBen Ito: It broke."
