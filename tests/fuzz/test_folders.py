"""Generated folders at the cheapest door; `python -m tests.fuzz.folders` runs them."""

import pytest
from hypothesis import given, settings

from gsum_assets.corpus.find import found_in
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.load import load, scan
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings
from tests.fuzz.folder_plans import copies_in, plans, written


@pytest.mark.slow
@given(plans(4))
@settings(max_examples=40, deadline=None)
def test_every_file_is_a_document_or_a_row(tmp_path_factory, plan):
    folder = tmp_path_factory.mktemp("corpus")
    with written(folder, plan) as expected:
        found_in(folder)
        stamp_of(folder)
        refused_types = {index for index in expected.rejected if index[0].endswith((".xyz", "/"))}
        if not (expected.texts or expected.either or expected.rejected - refused_types):
            with pytest.raises(CorpusError, match="holds no document"):
                scan(folder, CorpusSettings())
            return
        listing = scan(folder, CorpusSettings())
        documents, rejected = load(folder, CorpusSettings())
    files = {(one.file, one.line): one.document_id for one in listing}
    assert len(files) == len(listing) == len(documents) + len(rejected)
    texts = {document.document_id: document.text for document in documents}
    refused = {(one.file, one.line) for one in rejected}
    read = {index: texts[files[index]] for index in files if index not in refused}
    copies = copies_in([(one.file, one.line, one.reason) for one in rejected], expected)
    texts_of = {i: text for i, text in expected.texts.items() if i not in copies}
    assert {i: text for i, text in read.items() if i not in expected.either} == texts_of
    assert refused - expected.either - copies == expected.rejected - copies
    assert all(one.reason.encode() for one in rejected)
