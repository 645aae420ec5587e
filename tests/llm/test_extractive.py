"""The model as methods meet it: batches, determinism, honesty, errors, schemas."""

import re
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from gsum_assets.evaluation.quotations import Speakers, Verdict
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import results
from gsum_resources.protocols.models import Completion, CompletionError, LanguageModel, Request
from tests.llm.embedders import WordEmbedder
from tests.llm.test_text import MEETING

BOAT = (
    "Dov: We paid Mrs Aldous 6,000 pounds for the boat. A dealer had offered 11,000 pounds.\n"
    "Ines: The hull of the boat is steel. The engine of the boat is older than the harbour.\n"
    "Dov: The budget is 148,000 pounds, and the county gives 17,000 pounds of the budget."
)
LIBRARY = (
    "Teo: The county closed four libraries in March. The readers of the libraries live far away.\n"
    "Ines: The shelves of the library reach the ceiling. Um, the shelves need an inclining test."
)


def model():
    return ExtractiveModel(WordEmbedder())


def answer(question, passages=(BOAT, LIBRARY), **settings):
    return Request("answer", "Answer.", question, passages, **settings)


def complete(request):
    completion = model().complete([request])[0]
    assert isinstance(completion, Completion), completion
    return completion


def test_implements_language_model_with_identity_and_usage():
    assert isinstance(model(), LanguageModel)
    assert model().identity == model().identity
    assert model().identity.startswith("extractive-")
    assert ExtractiveModel(WordEmbedder(64)).identity != model().identity
    completion = complete(answer("Summarize the whole meeting."))
    assert completion.model == "extractive"
    assert completion.tokens_in > completion.tokens_out > 0
    assert completion.latency_s > 0


def test_question_finds_its_sentence():
    assert (
        "inclining test" in complete(answer("Which test do the shelves need?", max_words=12)).text
    )
    assert "6,000" in complete(answer("What was paid to Mrs Aldous?", max_words=14)).text


def test_a_brief_answer_is_neither_a_question_nor_a_piece_of_a_sentence():
    # both have more of the question's words than the sentence that answers it
    passages = (
        "lamp keeper. Marta Lund has looked after the lamp since the ferry stopped.",
        "Who is the keeper of the lamp? The mine is closed, and the village moved to the coast.",
    )
    answered = complete(answer("Who is the lamp keeper?", passages, is_brief=True)).text
    assert answered == "Marta Lund has looked after the lamp since the ferry stopped."


def test_a_brief_answer_leaves_out_what_does_not_bear_on_the_question():
    question = "Who paid Mrs Aldous?"
    full, brief = (complete(answer(question, is_brief=is_brief)).text for is_brief in (False, True))
    assert brief == "Dov: We paid Mrs Aldous 6,000 pounds for the boat."
    assert len(full) > len(brief)


def test_answers_keep_the_length_of_their_question():
    many = "\n".join(
        f"Dov: The boat carried cargo{i} and ropes{i} to harbour{i} for dealer{i} in week{i}."
        for i in range(40)
    )
    lengths = [
        len(complete(answer(question, (many,), max_words=130)).text.split())
        for question in ("Who bought the boat?", "Who bought the boat, and why?")
    ]
    assert lengths[0] <= 44 < 80 < lengths[1]


def test_sentences_of_likely_passages_are_preferred():
    passages = (
        "Dov: The engine of the boat was repaired in Lowick by the firm of Brandt.",
        "Ines: The engine of the boat was repaired in Marsh End by the firm of Keel.",
    )
    question = "Where was the engine of the boat repaired?"
    for weights, place in [((0.9, 0.1), "Lowick"), ((0.1, 0.9), "Marsh End")]:
        assert place in complete(answer(question, passages, max_words=16, weights=weights)).text
    general = answer("Summarize the whole meeting.", passages, max_words=16)
    weighted = answer("Summarize the whole meeting.", passages, max_words=16, weights=(0.1, 0.9))
    assert complete(general).text == complete(weighted).text


def test_every_sentence_comes_from_the_passages_in_order():
    text = complete(answer("Summarize the whole meeting.", max_words=60)).text
    source = (BOAT + "\n" + LIBRARY).replace("Um, the", "The")
    offsets = [
        source.index(sentence)
        for line in text.splitlines()
        for sentence in re.split(r"(?<=[.?!]) ", line.split(": ", 1)[1])
    ]
    assert len(offsets) > 3
    assert offsets == sorted(offsets)


def test_single_overlong_sentence_is_visibly_cut():
    long = "The boat " + " ".join(f"and harbour{i}" for i in range(200)) + " was old."
    text = complete(answer("Summarize it.", (long,), max_words=20)).text
    assert text.endswith("…")
    assert len(text.split()) <= 22


def test_replies_do_not_depend_on_the_batch():
    requests = [
        answer("Summarize the whole meeting."),
        answer("What was paid to Mrs Aldous?", max_words=30),
        Request("question", "", passages=(BOAT,), temperature=0.5, seed=3),
        Request("facts", "", passages=(LIBRARY,)),
    ]
    together = [c.text for c in model().complete(requests) if isinstance(c, Completion)]
    alone = [complete(request).text for request in requests]
    assert together == alone


def test_sentences_are_embedded_once_in_one_call():
    embedder = WordEmbedder()
    extractive = ExtractiveModel(embedder)
    extractive.complete([answer("Summarize it."), answer("What of the boat?")])
    assert len(embedder.calls) == 1
    assert len(embedder.calls[0]) == len(set(embedder.calls[0]))
    extractive.complete([answer("What of the library?")])
    assert len(embedder.calls) == 1


def test_the_cache_is_bounded():
    extractive = ExtractiveModel(WordEmbedder(), cache_size=3)
    extractive.complete([answer("Summarize it.")])
    assert len(extractive._vectors) == 3


@pytest.mark.parametrize("passages", [(), ("",), ("A: Um.\nB: Mm-hmm.\nA: Uh.",)])
def test_nothing_to_read_raises_with_remedy(passages):
    request = Request("answer", "", "Why?", passages, document_id="doc-7")
    error = model().complete([request])[0]
    assert isinstance(error, CompletionError)
    assert "doc-7" in error.message
    assert "retrieve" in error.message


def test_bad_request_does_not_affect_others():
    replies = model().complete([answer("Why?", ()), answer("Summarize it.")])
    assert isinstance(replies[0], CompletionError)
    assert isinstance(replies[1], Completion)


@pytest.mark.parametrize(
    ("task", "schema"),
    [
        ("entities", results.Entities),
        ("facts", results.Facts),
        ("topic", results.Topic),
        ("score", results.Score),
        ("topic", results.TopicScore),
        ("answer", results.KeyPoints),
    ],
)
def test_schemas_are_filled_and_the_text_is_their_json(task, schema):
    request = Request(task, "", "What does the boat cost?", (BOAT,), schema=schema)
    completion = complete(request)
    assert isinstance(completion.parsed, schema)
    assert schema.model_validate_json(completion.text) == completion.parsed


def test_scores_rank_relevant_before_unrelated():
    def score(passage):
        request = Request("score", "", "What do the shelves need?", (passage,))
        return results.Score.model_validate_json(complete(request).text).score

    assert score(LIBRARY) > score("The moon rose over a silent desert of glass.")


class Finding(BaseModel):
    summary: str
    explanation: str


class Report(BaseModel):
    title: str
    summary: str
    rating: float = Field(ge=0, le=10)
    findings: list[Finding]
    note: str = "none"


class Winner(BaseModel):
    winner: Literal["A", "B"]


def test_unknown_schema_is_filled_by_field_names():
    report = complete(Request("answer", "", "", (BOAT,), schema=Report)).parsed
    assert isinstance(report, Report)
    assert report.title
    assert report.findings
    assert report.findings[0].summary in BOAT.replace(", and the county", "\nThe county")
    assert report.note == "none"


def test_unfillable_schema_raises():
    error = model().complete([Request("answer", "", "", (BOAT,), schema=Winner)])[0]
    assert isinstance(error, CompletionError)
    assert "'winner'" in error.message
    assert "Winner" in error.message


class Kind(BaseModel):
    name: str
    type: str = Field(json_schema_extra={"enum": ["person", "boat", "other"]})


class Claim(BaseModel):
    subject: str
    object: str = ""
    status: str
    description: str
    quote: str = ""


class Reference(BaseModel):
    summary: str
    references: list[int]


class Extraction(BaseModel):
    entities: list[Kind]
    claims: list[Claim] = Field(default_factory=list)
    findings: list[Reference]


def test_type_missing_from_the_schema_becomes_the_last():
    extraction = complete(Request("entities", "", "", (BOAT,), schema=Extraction)).parsed
    kinds = {entity.name: entity.type for entity in extraction.entities}
    assert kinds["Dov"] == kinds["Ines"] == "person"
    assert set(kinds.values()) == {"person", "other"}  # "concept" is not among the three


def test_claims_are_statements_about_entities():
    passage = (
        "On a quay the old Ines Moor met Dov Aldous. Then the old Ines Moor paid him. It rained."
    )
    extraction = complete(Request("entities", "", "", (passage,), schema=Extraction)).parsed
    names = {entity.name for entity in extraction.entities}
    assert {"Ines Moor", "Dov Aldous"} <= names
    assert extraction.claims
    for claim in extraction.claims:
        assert claim.subject in names
        assert claim.object in names | {""}
        assert claim.subject != claim.object
        assert claim.quote == ""  # a statement is not always in the words of the text
        assert claim.description in passage
        assert claim.status == "true"
    assert not any("rained" in claim.description for claim in extraction.claims)


@pytest.mark.parametrize("passages", [(BOAT, LIBRARY), (LIBRARY, BOAT)])
def test_findings_refer_to_their_passage(passages):
    request = Request("answer", "", "", passages, max_words=80, schema=Extraction)
    findings = complete(request).parsed.findings
    said = {number for finding in findings for number in finding.references}
    assert said == {1, 2}
    for finding in findings:
        (number,) = finding.references
        words = finding.summary.partition(": ")[2].split()
        assert " ".join(words[1:]) in passages[number - 1]  # the first may have got its capital


@pytest.mark.parametrize("passage", ["Uh yeah. Mm.", "Okay. Yeah, right. You know, that is so."])
def test_question_about_passages_without_keyphrase_is_empty(passage):
    assert complete(Request("question", "", passages=(passage,))).text == ""


@pytest.mark.parametrize("schema", [results.Entities, results.Facts])
def test_descriptions_name_their_speakers(schema):
    parsed = complete(Request("entities", "", "", (MEETING,), schema=schema)).parsed.model_dump()
    speakers = Speakers([MEETING])
    texts = [row["description"] for name in parsed for row in parsed[name] if "description" in row]
    texts += [row["statement"] for row in parsed.get("facts", ())]
    sentences = [s for text in texts for s in speakers.shown(text)]
    assert any(len(text.splitlines()) > 1 for text in texts) or schema is results.Facts
    assert max(len(s.names) for s in sentences) == 1
    assert {speakers.verdict(s) for s in sentences} <= {Verdict.RIGHT, Verdict.UNATTRIBUTED}
