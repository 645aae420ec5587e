"""Several corpora are asked together: the best passages of all, each with its corpus."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from gsum_assets.answering.several import ask_several, merged
from gsum_assets.cli.main import main
from gsum_assets.pipeline.corpus_settings import CorpusError
from tests.conftest import CORPUS, House, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
OTHER = "letters"


def passage(node_id: str, score: float, rank: int) -> dict:
    return {"node_id": node_id, "score": score, "rank": rank, "document_id": "d"}


def test_passages_are_merged_by_score_or_by_rank() -> None:
    passages = {
        "a": [passage("a1", 0.9, 1), passage("both", 0.5, 2), passage("a3", 0.4, 3)],
        "b": [passage("b1", 0.7, 1), passage("both", 0.6, 2)],
    }
    by_score = merged(passages, by_score=True)
    assert [(r["node_id"], r["corpus"]) for r in by_score] == [
        *(("a1", "a"), ("b1", "b"), ("both", "b")),
    ]
    by_rank = merged(passages, by_score=False)
    assert [(r["node_id"], r["corpus"]) for r in by_rank] == [
        *(("a1", "a"), ("b1", "b"), ("both", "a")),
    ]
    assert [row["rank"] for row in by_rank] == [1, 2, 3]
    assert merged({"a": [], "b": []}, by_score=True) == []


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("two")) as house:
        for corpus, names in {CORPUS: ("ash", "birch"), OTHER: ("ash", "cedar")}.items():
            folder = house.home.corpora / corpus
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
            for name in names:
                # of the two with one name the text differs
                (folder / f"{name}.txt").write_text(text_of(name, 90 if corpus == CORPUS else 80))
            assert house.run(["bm25"], corpus).errors == []
        yield house


def test_each_corpus_is_counted(two: House) -> None:
    corpora, question = [CORPUS, OTHER], "Which documents mention birch or cedar?"
    answer = ask_several(two.workspace, corpora, question, "bm25")
    heads = [line for line in answer.text.splitlines() if "mention" in line]
    assert heads == [
        f"{corpus}: 1 of 2 documents mentions “birch” or “cedar”." for corpus in corpora
    ]
    assert [s.title for s in answer.sources] == [f"{CORPUS}: birch", f"{OTHER}: cedar"]
    assert [answer.passage(source)["corpus"] for source in answer.sources] == corpora
    assert [list(s.numbers) for s in answer.sentences if s.numbers] == [[1], [2]]
    ash = ask_several(two.workspace, corpora, question, "bm25", "title = 'ash'")
    assert ash.text.startswith(f"{CORPUS}: 0 of 1 document mention")


@pytest.mark.parametrize("method", ["bm25", "hybrid", "full_context"])
def test_both_corpora_are_read(two: House, method: str) -> None:
    answer = ask_several(two.workspace, [CORPUS, OTHER], "What met the boat?", method)
    assert {row["corpus"] for row in answer.passages} == {CORPUS, OTHER}
    assert {row["document_id"] for row in answer.passages} <= {"ash", "birch", "cedar"}
    assert [row["rank"] for row in answer.passages] == list(range(1, len(answer.passages) + 1))
    assert len(answer.sources) == len(answer.passages)
    for source in answer.sources:
        corpus, _, title = source.title.partition(": ")
        assert corpus in (CORPUS, OTHER)
        assert title == source.document_id
        assert source.location.startswith("passage ")
    assert answer.text.split()[0] == answer.sources[0].text.split()[0]


def test_command_prints_the_corpus_of_each_passage(
    two: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_HOME", str(two.home.root))
    corpora = f"{CORPUS},{OTHER}"
    arguments = ["ask", corpora, "What about cedar?", "--method", "bm25", "--json"]
    cedar = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert (OTHER, "cedar") in {(p["corpus"], p["document_id"]) for p in cedar["passages"]}
    where = [*arguments, "--where", "title = 'birch'"]
    birch = json.loads(CliRunner().invoke(main, where).stdout)
    assert {(p["corpus"], p["document_id"]) for p in birch["passages"]} == {(CORPUS, "birch")}
    nothing = CliRunner().invoke(main, [*arguments, "--where", "title = 'oak'"])
    assert "fulfils: title = 'oak'" in nothing.stderr
    one_corpus = CliRunner().invoke(main, [*arguments, "--document", "ash"])
    assert "a document is asked in one corpus" in one_corpus.stderr
    with pytest.raises(CorpusError, match=r"'gae' answers .* one corpus.*use one of: .*dense"):
        ask_several(two.workspace, [CORPUS, OTHER], "What?", "gae")
    unknown = CliRunner().invoke(main, ["ask", f"{CORPUS},leters", "What?"])
    assert "did you mean 'letters'?" in unknown.stderr
