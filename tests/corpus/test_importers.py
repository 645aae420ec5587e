"""Importers on small files in the official formats, and the writing of a corpus."""

import gzip
import io
import json
import tarfile
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.importers import BENCHMARKS, import_benchmark
from gsum_assets.corpus.importers.graphrag_bench import split_of_guide
from gsum_assets.corpus.importers.qmsum import clean_turn
from gsum_assets.jerr.settings import JerrSettings
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section, load_settings


def _put(path, value):
    """Write text, JSON or (a list of rows for .jsonl) JSON lines; gzip by the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".jsonl" in path.name or "htmlstripped" in path.name:
        value = "\n".join(json.dumps(row) for row in value)
    elif not isinstance(value, str):
        value = json.dumps(value)
    content = value.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _run(name, source, tmp_path):
    """Import; give report, documents by id, queries by id."""
    report = import_benchmark(name, source, tmp_path / "corpora")
    folder = tmp_path / "corpora" / name
    documents, queries = (
        [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text().splitlines()]
        for kind in ("documents", "queries")
    )
    assert (report.n_documents, report.n_queries) == (len(documents), len(queries))
    settings = tomllib.loads((folder / "corpus.toml").read_text())
    benchmark = BENCHMARKS[name]
    own = tomllib.loads(benchmark.settings)
    assert settings == {"title": benchmark.title, "kind": benchmark.kind, **own}
    return (
        report,
        {document["document_id"]: document for document in documents},
        {query["query_id"]: query for query in queries},
    )


def _meeting(topic="Budget"):
    return {
        "topic_list": [{"topic": topic, "relevant_text_span": []}, {"topic": "Colour"}],
        "general_query_list": [{"query": "Summarize it.", "answer": "All."}],
        "specific_query_list": [
            {"query": "Who paid?", "answer": "Ann.", "relevant_text_span": [["0", "2"], ["1", "1"]]}
        ],
        "meeting_transcripts": [
            {"speaker": " Dr  Ann ", "content": "I 'll\npay ."},
            {"speaker": "Bob", "content": "{vocalsound}"},
            {"speaker": "Ann", "content": "Good ."},
        ],
    }


def test_qmsum(tmp_path):
    _put(tmp_path / "s/train.jsonl.gz", [_meeting()])
    _put(tmp_path / "s/val.jsonl", [_meeting(), _meeting("Shape")])
    report, documents, queries = _run("qmsum", tmp_path / "s", tmp_path)
    assert list(documents) == ["qmsum-train-001", "qmsum-val-001", "qmsum-val-002"]
    assert documents["qmsum-val-002"]["text"] == "Dr Ann: I'll pay.\nAnn: Good."
    assert documents["qmsum-val-002"]["title"] == "Meeting on Shape and 1 more"
    general = queries["qmsum-val-002-general-1"]
    assert general["retrieval_text"] == "Summarize it. Shape; Colour"
    assert (general["kind"], general["split"]) == ("general", "dev")
    specific = queries["qmsum-train-001-specific-1"]
    assert specific["retrieval_text"] == specific["text"] == "Who paid?"
    assert specific["references"] == ["Ann."]
    assert specific["relevant_document_ids"] == ["qmsum-train-001"]
    assert general["relevant_spans"] == []
    text = documents["qmsum-train-001"]["text"]
    (span,) = specific["relevant_spans"]  # of the turns with words
    assert text[span["start"] : span["end"]] == text
    assert report.notes == ["3 turns without words left out"]


def test_one_file_instead_of_the_folder(tmp_path):
    _put(tmp_path / "val.jsonl.gz", [_meeting()])
    assert len(_run("qmsum", tmp_path / "val.jsonl.gz", tmp_path)[1]) == 1


def _question(number, uid, text="What?"):
    return {
        "question_text": f"{text} {number}",
        "question_number": number,
        "responses": [
            {"uid": uid, "response_text": f"answer {number}"},
            {"uid": f"{uid}b", "response_text": "another"},
        ],
    }


def test_squality(tmp_path):
    story = {
        "metadata": {"passage_id": "63833"},
        "document": "\nProduced by A. B.\nat http://www.pgdp.net\nTHE TITLE\n\nOnce.",
        "questions": [_question(1, "u"), _question(2, "u")],
    }
    _put(tmp_path / "data/v1-3/txt/dev.jsonl", [story])
    _, documents, queries = _run("squality", tmp_path, tmp_path)
    assert documents["squality-63833"]["title"] == "THE TITLE"
    assert documents["squality-63833"]["text"] == story["document"]
    assert [q["kind"] for q in queries.values()] == ["general", "specific"]
    assert queries["squality-63833-1"]["references"] == ["answer 1", "another"]


def test_odsum_story_links_by_response(tmp_path):
    stories = {
        split: [{"questions": [_question(1, split)], "divided_document": sections}]
        for split, sections in {"train": ["one", " ", "two"], "dev": ["three", ""]}.items()
    }
    stories["test"] = [{"questions": [], "divided_document": ["four"]}]
    for split, rows in stories.items():
        _put(tmp_path / f"documents/{split}.jsonl.gz", rows)
    # The order of queries is not that of documents; the last one belongs to no story.
    lines = [[_question(1, "dev", "Q")], [_question(1, "train", "Q")], [_question(1, "lost")]]
    _put(tmp_path / "queries.jsonl", lines)
    report, documents, queries = _run("odsum-story", tmp_path, tmp_path)
    texts = {key: document["text"] for key, document in documents.items()}
    assert sorted(texts.values()) == ["four", "one", "three", "two"]
    assert list(texts) == sorted(texts)
    assert all("title" not in document for document in documents.values())
    relevant = {
        query["split"]: [texts[key] for key in query["relevant_document_ids"]]
        for query in queries.values()
    }
    assert relevant == {"dev": ["three"], "train": ["one", "two"]}
    assert {query["document_id"] for query in queries.values()} == {None}
    assert report.notes == [
        "2 of 6 sections are empty and left out",
        "1 queries share no response with a story and are left out",
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_odsum_meeting(tmp_path, packed):
    texts = {"ES1": "ann: hello", "ES2": " ", "ES3": "bob: bye"}
    if packed:
        with tarfile.open(tmp_path / "Documents.tar.gz", "w:gz") as archive:
            for name, text in texts.items():
                member = tarfile.TarInfo(f"Documents/{name}.txt")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
    else:
        for name, text in texts.items():
            _put(tmp_path / f"Documents/{name}.txt", text)
    row = {"query": "Q", "answer": "A", "meetings_list": ["ES3", "ES2"]}
    _put(tmp_path / "queries.json.gz", {"7": row})
    report, documents, queries = _run("odsum-meeting", tmp_path, tmp_path)
    assert list(documents) == ["ES1", "ES3"]
    query = queries["odsum-meeting-007"]
    assert query["relevant_document_ids"] == ["ES3"]
    assert (query["split"], query["kind"]) == ("dev", "specific")
    assert any("1 of 3 transcripts are empty (ES2)" in note for note in report.notes)


def test_quality(tmp_path):
    def row(writer, **label):
        question = {"question": "Which?", "options": ["a", "b", "c", "d"], **label}
        article = {"article_id": "20", "title": "T", "article": "Long ago."}
        return {**article, "set_unique_id": f"20_{writer}", "questions": [question]}

    folder = tmp_path / "data/v1.0.1"
    rows = [row("w1", gold_label=3), row("w2")]
    _put(folder / "QuALITY.v1.0.1.htmlstripped.dev.gz", rows)
    _put(folder / "QuALITY.v1.0.1.dev.jsonl", [row("html", gold_label=1)])  # not the stripped one
    _, documents, queries = _run("quality", tmp_path, tmp_path)
    (document,) = documents.values()
    assert document == {"document_id": "quality-20", "title": "T", "text": "Long ago."}
    first, second = queries.values()
    assert first["text"] == first["retrieval_text"] == "Which?"
    assert (first["form"], first["options"]) == ("choice", ["a", "b", "c", "d"])
    assert first["references"] == ["c"]
    assert second["references"] == []
    settings = load_settings(tmp_path / "corpora/quality")
    assert checked_section(JerrSettings, "jerr", settings.jerr).chunking.max_tokens == 600


def test_musique(tmp_path):
    paragraphs = [
        {"title": "A", "paragraph_text": "a.", "is_supporting": True},
        {"title": "B", "paragraph_text": "b.", "is_supporting": False},
    ]
    test = {"id": "3hop__1", "paragraphs": paragraphs, "question": "Q?"}
    row = {**test, "id": "2hop__1_2", "answer": "x", "answer_aliases": ["X", "x"]}
    rows = [{**row, "answerable": True}, {**row, "answerable": False}]
    _put(tmp_path / "data/musique_ans_v1.0_dev.jsonl", rows)
    _put(tmp_path / "data/musique_ans_v1.0_test.jsonl", [test])
    report, documents, queries = _run("musique", tmp_path, tmp_path)
    assert documents["musique-2hop__1_2"]["text"] == "A\na.\n\nB\nb."
    query = queries["musique-2hop__1_2-q"]
    assert (query["references"], query["form"]) == (["x", "X"], "short")
    assert query["relevant_spans"] == [{"document_id": "musique-2hop__1_2", "start": 0, "end": 4}]
    assert queries["musique-3hop__1-q"]["references"] == []
    assert report.notes == ["1 unanswerable questions left out"]


def _narrativeqa(folder):
    _put(
        folder / "documents.csv",
        "document_id,set,kind,wiki_title,story_start,story_end\n"
        "d1,train,gutenberg,Emma,IT WAS once ...,the end .\n"
        "d2,valid,movie,Alien,,\n",
    )
    _put(
        folder / "qaps.csv",
        "document_id,set,question,answer1,answer2\n"
        "d1,train,Who ?,Emma,Emma W\nd2,valid,Where ?,space,space\n",
    )


def test_narrativeqa_stories(tmp_path):
    _narrativeqa(tmp_path)
    with pytest.raises(CorpusError, match=r"and the stories, .*; found documents.csv"):
        _run("narrativeqa", tmp_path, tmp_path)
    text = (
        "<html><style>p {}</style>Licence. IT WAS once... caf\xe9 &amp; tea, the end. Advertisement"
    )
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/d1.content").write_bytes(text.encode("latin-1"))
    _, documents, queries = _run("narrativeqa", tmp_path, tmp_path)
    assert {key: document["text"] for key, document in documents.items()} == {
        "d1": "IT WAS once... café & tea, the end."
    }
    (query,) = queries.values()
    assert (query["references"], query["split"]) == (["Emma", "Emma W"], "train")


def test_wcep(tmp_path):
    articles = [{"title": "T", "text": f"text {i}"} for i in range(12)]
    _put(tmp_path / "train.jsonl", [{"summary": "S", "articles": [articles[0], *articles]}])
    _, documents, queries = _run("wcep", tmp_path, tmp_path)
    original = documents["wcep-train-00001"]["text"]
    assert original.startswith("T\ntext 0\n\nT\ntext 1\n\n")
    assert original.count("\n\n") == 9  # ten different articles
    assert queries["wcep-train-00001-summary"]["references"] == ["S"]
    assert queries["wcep-train-00001-summary"]["kind"] == "general"


def test_booksum(tmp_path):
    table = (
        {"bid": [1, 1], "book_id": ["Emma.chapter 1", "Emma.chapter 1"]}
        | {"chapter_path": ["all/1-chapters/chapter_1.txt"] * 2, "chapter": ["It was."] * 2}
        | {"summary_text": ["short", "shorter"]}
    )
    (tmp_path / "s").mkdir()
    pq.write_table(pa.table(table), tmp_path / "s/train-00000-of-00001.parquet")
    _, documents, queries = _run("booksum", tmp_path / "s", tmp_path)
    assert list(documents) == ["booksum-1-chapter_1"]
    assert queries["booksum-1-chapter_1-summary"]["references"] == ["short", "shorter"]


def test_govreport(tmp_path):
    _put(tmp_path / "train.jsonl", [{"report": "r", "summary": "s"}])
    _put(tmp_path / "valid.jsonl", [{"id": "GAO_1", "document": "d", "summary": "s"}])
    _, documents, _ = _run("govreport", tmp_path, tmp_path)
    assert list(documents) == ["govreport-train-00001", "govreport-GAO_1"]


def test_academiceval(tmp_path):
    paper = {"url": "http://arxiv.org/abs/2401.00001v1", "title": "P"}
    paper |= {"abstract": "A", "main_content": "Body", "gt": "A"}
    _put(tmp_path / "abs_9K/val/p1.json", paper)
    _put(tmp_path / "abs_9K/p2.json", {**paper, "url": "", "gt": "B"})
    _put(tmp_path / "title_10K/p3.json", {**paper, "url": "x/3"})
    _, documents, queries = _run("academiceval", tmp_path, tmp_path)
    assert list(documents) == ["academiceval-p2-1", "academiceval-2401.00001v1"]
    asked = [(q["split"], q["references"]) for q in queries.values()]
    assert asked == [("test", ["B"]), ("dev", ["A"])]


def test_multihop_rag(tmp_path):
    articles = [{"title": f"T{i}", "url": f"u{i}", "body": f"text {i}"} for i in (1, 2)]
    questions = [
        {"query": "Q", "answer": "Yes", "question_type": "comparison_query"}
        | {"evidence_list": [{"title": "T2", "url": "u2"}, {"title": "T1"}, {"title": "T9"}]},
        {"query": "N", "answer": "Insufficient information.", "evidence_list": []},
    ]
    _put(tmp_path / "dataset/corpus.json", articles)
    _put(tmp_path / "dataset/MultiHopRAG.json", questions)
    report, documents, queries = _run("multihop-rag", tmp_path, tmp_path)
    assert [d["text"] for d in documents.values()] == ["text 1", "text 2"]
    relevant = [q["relevant_document_ids"] for q in queries.values()]
    assert relevant == [["article-0002", "article-0001"], []]
    assert report.notes == ["1 pieces of evidence name no article of the corpus"]


def _medical_question(number, question, answer, **more):
    row = {"id": f"Medical-{number}", "source": "Medical", "question_type": "Fact Retrieval"}
    return {**row, "question": question, "answer": answer, **more}


def test_graphrag_bench(tmp_path):
    skin = "Skin cancer basics Key points Skin cancer is common. The sun is its main cause."
    bone = "About bone What is bone cancer? Bone cancer starts in bones. Chemotherapy helps."
    query = [
        _medical_question(1, "What causes skin cancer?", "The sun.", evidence=["THE  sun is its"]),
        _medical_question(2, "What helps?", "Chemotherapy.", evidence="Chemotherapy helps."),
        _medical_question(3, "What helps?", "Bone chemotherapy.", evidence=["not in the text", ""]),
        _medical_question(4, "Write a letter.", "Dear", question_type="Creative Generation"),
    ]
    corpus = {"corpus_name": "Medical", "context": f"{skin}\n{bone}\n\n{skin} \n"}
    _put(tmp_path / "Datasets/Corpus/medical.json", corpus)
    _put(tmp_path / "Datasets/Questions/medical_questions.json.gz", query)
    report, documents, queries = _run("graphrag-bench", tmp_path, tmp_path)
    assert {key: (d["title"], d["text"]) for key, d in documents.items()} == {
        "guide-01": ("Skin cancer is common. The sun is its", skin),
        "guide-02": ("Bone cancer starts in bones. Chemotherapy helps.", bone),
    }
    assert [q["kind"] for q in queries.values()] == ["fact-retrieval"] * 3 + ["creative-generation"]
    first, second, third, last = queries.values()
    assert (first["references"], first["relevant_document_ids"]) == (["The sun."], ["guide-01"])
    found = [(span["document_id"], span["start"], span["end"]) for span in first["relevant_spans"]]
    start = skin.index("The sun is its")
    assert found == [("guide-01", start, start + 14)]
    assert second["relevant_document_ids"] == ["guide-02"]
    assert third["relevant_spans"] == last["relevant_document_ids"] == []
    assert first["split"] == split_of_guide(skin)
    assert second["split"] == third["split"] == split_of_guide(bone)
    assert report.notes == [
        "2 of 3 pieces of evidence are found in the guides",
        "1 guides that occur twice in the corpus are imported once",
        "1 questions have the text of an earlier one; all are kept",
    ]


def test_graphrag_bench_rejects_unknown_type_and_two_corpora(tmp_path):
    odd = _medical_question(1, "Q", "A", question_type="Trivia")
    corpus = {"corpus_name": "Medical", "context": "One guide."}
    _put(tmp_path / "medical.json", [corpus])
    _put(tmp_path / "medical_questions.json", [odd, _medical_question(2, "Q2", "A")])
    report = import_benchmark("graphrag-bench", tmp_path, tmp_path / "corpora")
    assert report.n_queries == 1
    assert "query 'Medical-1': 'kind' has value 'trivia'" in report.notes[-1]
    _put(tmp_path / "medical.json", [corpus, corpus])
    with pytest.raises(CorpusError, match="not in the official format"):
        import_benchmark("graphrag-bench", tmp_path, tmp_path / "corpora")


def test_halves_of_graphrag_bench_are_stable():
    """The rule that splits the guides must not change, or held-out guides become known."""
    splits = [split_of_guide(f"guide {i}") for i in range(6)]
    assert splits == ["test", "test", "dev", "test", "test", "dev"]


def test_unknown_names_and_sources_raise(tmp_path):
    with pytest.raises(CorpusError, match="no benchmark 'qmsun'; did you mean 'qmsum'"):
        import_benchmark("qmsun", tmp_path, tmp_path)
    with pytest.raises(CorpusError, match="does not exist; expected QMSum's jsonl"):
        import_benchmark("qmsum", tmp_path / "none", tmp_path)
    with pytest.raises(CorpusError, match="corpus name 'a/b' cannot be used"):
        import_benchmark("qmsum", tmp_path, tmp_path, "a/b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_wrong_folder_error_states_expected_and_found(tmp_path, name):
    _put(tmp_path / "source/readme.md", "hello")
    with pytest.raises(CorpusError, match=f"^{name}: .*expected.*readme.md") as error:
        import_benchmark(name, tmp_path / "source", tmp_path / "corpora")
    assert BENCHMARKS[name].expects in str(error.value)
    assert not (tmp_path / "corpora").exists()


def test_records_in_another_format_raise(tmp_path):
    broken = json.dumps(_meeting()).replace("answer", "reply")
    for content, message in (
        ('{"text": "x"}', r"train.jsonl line 1: expected the key 'meeting_trans"),
        (broken, r"official format \(KeyError: 'answer'\)"),
        (f'{json.dumps(_meeting())}\n{{"a', r"line 2: not JSON"),
    ):
        (tmp_path / "train.jsonl").write_text(content)
        with pytest.raises(CorpusError, match=message):
            import_benchmark("qmsum", tmp_path, tmp_path / "corpora")


def test_failed_import_keeps_the_old_corpus(tmp_path):
    source, corpora = tmp_path / "s", tmp_path / "corpora"
    _put(source / "train.jsonl", [_meeting()])
    import_benchmark("qmsum", source, corpora, "mine")
    before = {path.name: path.read_bytes() for path in (corpora / "mine").iterdir()}
    assert set(before) == {"documents.jsonl", "queries.jsonl", "corpus.toml"}
    empty = _meeting() | {"meeting_transcripts": []}
    for rows in ([{"text": "x"}], [empty]):  # fails while reading, and after writing
        _put(source / "train.jsonl", rows)
        with pytest.raises(CorpusError):
            import_benchmark("qmsum", source, corpora, "mine")
        assert {path.name: path.read_bytes() for path in (corpora / "mine").iterdir()} == before
        assert [path.name for path in corpora.iterdir()] == ["mine"]


def test_second_import_replaces_the_first_but_no_files_of_a_person(tmp_path):
    for n in (3, 1):
        _put(tmp_path / "s/train.jsonl", [_meeting()] * n)
        assert len(_run("qmsum", tmp_path / "s", tmp_path)[1]) == n
    _put(tmp_path / "corpora/qmsum/mine.txt", "my own document")
    with pytest.raises(CorpusError, match=r"has 'mine.txt', which no import wrote"):
        import_benchmark("qmsum", tmp_path / "s", tmp_path / "corpora")
    assert (tmp_path / "corpora/qmsum/mine.txt").read_text() == "my own document"


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
