"""Pages of ReadAgent: exact slices, pauses where a model says so, and gists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.jerr.pages import paginate
from gsum_assets.jerr.prompts import Pause
from gsum_assets.jerr.settings import PageSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request

SMALL = PageSettings(min_words=4, max_words=12, gist_words=10)
LAST = 99  # a number that no passage has


@dataclass
class Reader:
    """A language model with scripted pauses that shortens to the first three words.

    Attributes
    ----------
    pauses : from a request's index among those for a pause to its reply; None: an error.
    batches : requests of each call, in order.
    """

    pauses: Callable[[int], int | None] = lambda _: 1
    identity: str = "reader"
    batches: list[Sequence[Request]] = field(default_factory=list)
    n_pauses: int = 0
    n_wrong: int = 0

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.batches.append(requests)
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        if request.schema is None:
            (text,) = request.passages
            gist = " ".join(text.split()[:3])
            return Completion(gist if "w" in gist else " ", "reader", 0, 0, 0.0)
        said, self.n_pauses = self.pauses(self.n_pauses), self.n_pauses + 1
        self.n_wrong += said is None or said > len(request.passages)
        if said is None:
            return CompletionError("no number in it", "reader")
        return Completion("", "reader", 0, 0, 0.0, parsed=Pause(pause=said))

    def shown(self) -> list[list[tuple[str, ...]]]:
        """The passages that each round showed to ask for a pause."""
        rounds = [[r.passages for r in batch if r.schema] for batch in self.batches]
        return [passages for passages in rounds if passages]


def documents(*texts: str) -> pa.Table:
    ids = [f"d{i}" for i in range(len(texts))]
    return pa.table({"document_id": pa.array(ids), "text": pa.array(texts, pa.string())})


def paragraphs(n: int, n_words: int = 3, between: str = "\n\n") -> str:
    return between.join(" ".join(f"w{i}.{k}" for k in range(n_words)) for i in range(n))


@pytest.mark.parametrize("between", ["\n\n", "\n", "\n \n\n"])
@pytest.mark.parametrize("said", [1, 2, 3])
def test_page_ends_after_the_named_passage(said: int, between: str) -> None:
    text = paragraphs(10, between=between)
    reader = Reader(lambda _: said)
    paged = paginate(documents(text), SMALL, reader)
    assert paged.failures == []
    # Two paragraphs are the least of a page, four the most.
    parts = text.split(between)
    assert paged.rows["text"][0].as_py() == between.join(parts[: said + 1])
    assert reader.shown()[0] == [(between.join(parts[:2]), parts[2], parts[3])]


@pytest.mark.parametrize(
    ("said", "problem"), [(LAST, f"names passage {LAST} of 3"), (None, "no number in it")]
)
def test_without_a_valid_pause_a_page_is_full_length_and_flagged(said, problem) -> None:
    paged = paginate(documents(paragraphs(6)), SMALL, Reader(lambda _: said))
    assert paged.rows["n_words"].to_pylist() == [12, 6]
    (failure,) = paged.failures
    assert "document 'd0', page 0" in failure
    assert problem in failure


def test_single_possible_pause_needs_no_request() -> None:
    # What is left fits; a long paragraph follows; a paragraph is a page by itself.
    fits, long_follows = paragraphs(4), f"{paragraphs(1)}\n\n{paragraphs(1, 12)}\n\n{paragraphs(1)}"
    reader = Reader()
    paged = paginate(documents(fits, long_follows), SMALL, reader)
    assert paged.rows["n_words"].to_pylist() == [12, 3, 12, 3]
    assert reader.shown() == []


def test_long_paragraph_is_split_into_lines_sentences_and_words() -> None:
    lines = "\n".join(["one two three four five"] * 3)
    sentences = 'He said: "One two three four." Then five six seven. Eight, nine and ten followed!'
    for text, unit in ((lines, "one two three four five"), (sentences, "Then five six seven.")):
        reader = Reader()
        paginate(documents(text), SMALL, reader)
        ((passages,),) = reader.shown()
        assert unit in passages
    words = [f"w{i}" for i in range(30)]
    paged = paginate(documents(" ".join(words)), SMALL, Reader(lambda _: LAST))
    assert paged.rows["text"].to_pylist() == [" ".join(words[i : i + 12]) for i in (0, 12, 24)]


def test_documents_advance_together_with_pages_in_any_order() -> None:
    table = documents(paragraphs(9), paragraphs(5), "", paragraphs(12))
    reader = Reader()
    paged = paginate(table, SMALL, reader)
    assert [len(passages) for passages in reader.shown()] == [3, 2, 2, 1]
    assert len(reader.batches) == 4 + 1  # all gists at once
    assert paginate(table.take([3, 1, 0, 2]), SMALL, Reader()).rows.equals(paged.rows)
    assert set(paged.rows["document_id"].to_pylist()) == {"d0", "d1", "d3"}


def test_gists_are_requested_for_pages_longer_than_a_gist() -> None:
    text = f"{paragraphs(1, 12)}\n\n{paragraphs(1, 12).replace('w', 'v')}\n\nthe short end"
    paged = paginate(documents(text), SMALL, Reader())
    assert paged.rows["gist"].to_pylist() == ["w0.0 w0.1 w0.2", "", "the short end"]
    assert paged.rows["model"].to_pylist() == ["reader", "reader", ""]
    (problem,) = paged.failures
    assert "document 'd0', page 1: no gist: the reply is empty" in problem


_TEXTS = st.lists(
    st.sampled_from(
        ["one", "two.", 'three!"', "vier", "…", " ", " ", "\n", "\n\n", "\t", "\u00a0", "\x1c"]
    )
    | st.text(max_size=5),
    max_size=120,
).map("".join)


@given(
    st.lists(_TEXTS, max_size=3),
    st.lists(st.none() | st.integers(1, 12), min_size=1, max_size=5),
    st.integers(1, 8),
    st.integers(1, 20),
)
@example(["\n\n a\n\n\nb c"], [1], 1, 1)
def test_pages_are_exact_slices_that_cover_everything_once(
    texts: list[str], pauses: list[int | None], least: int, more: int
) -> None:
    settings = PageSettings(min_words=least, max_words=least + more, gist_words=10)
    reader = Reader(lambda index: pauses[index % len(pauses)])
    paged = paginate(documents(*texts), settings, reader)
    assert paged.rows.schema.equals(TABLES["jerr.pages"].schema)
    pages = paged.rows.to_pylist()
    assert len({page["page_id"] for page in pages}) == len(pages)
    for i, text in enumerate(texts):
        own = [page for page in pages if page["document_id"] == f"d{i}"]
        assert [page["position"] for page in own] == list(range(len(own)))
        end = 0
        for page in own:
            assert page["text"] == text[page["start"] : page["end"]] == page["text"].strip()
            assert not text[end : page["start"]].strip()
            assert 1 <= page["n_words"] == len(page["text"].split()) <= settings.max_words
            end = page["end"]
        assert not text[end:].strip()
    assert sum("no pause" in problem for problem in paged.failures) == reader.n_wrong
