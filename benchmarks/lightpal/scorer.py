"""LightPAL's index by word frequencies and by a real language model, side by side.

Run as `python -m benchmarks.lightpal.scorer [--sections 8]`; GSUM_DATASETS names the folder of
datasets. The model is the packaged one (the extra `smollm2`): log P(candidate | passage) per token,
the paper's context score. Eight sections (228 passages) take some half hour on two idle cores.
"""

import sys
import time
from dataclasses import asdict

import pyarrow as pa

from benchmarks import Measurement, required
from benchmarks.lightpal.corpora import CHUNKING, LANGUAGE, SETTINGS
from benchmarks.odsum import READERS, embedded, query_vectors, scores_of
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.rank import Tables, rank
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK, VARIANTS
from gsum_assets.lightpal.walk_trust import walk_trust
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.protocols import PassageScorer
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.settings import ScorerSettings

CUTOFFS = (3, 10)
MAX_QUESTIONS = 30
SECTIONS = 8
CANDIDATES = 5
METHODS = ("lightpal", PROMPTRANK)
BASELINE = "unigram"


def subset(n_sections: int) -> tuple[Collection, Questions, list]:
    """The first sections of ODSum-Story by whole stories, and the questions about them.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    contents = READERS["story"](required("odsum", "story"))
    kept, queries = set[str](), []
    for query in contents.queries:
        ids = set(query.relevant_document_ids)
        if len(kept | ids) > n_sections:
            continue
        kept |= ids
        queries += [query] if len(queries) < MAX_QUESTIONS else []
    documents = [one for one in contents.documents if one.document_id in kept]
    settings = CorpusSettings(chunking=CHUNKING)
    chunks = chunk_documents(documents, settings, default_tokenizer())
    table = pa.Table.from_pylist([asdict(query) for query in queries])
    vectors = query_vectors(table["retrieval_text"].to_pylist())
    collection = embedded(documents, [asdict(chunk) for chunk in chunks])
    return collection, Questions.from_table(table, vectors), queries


def measure(n_sections: int = SECTIONS, n_candidates: int = CANDIDATES) -> Measurement:
    """P and R of LightPAL and PromptRank with both scorers, paired by question.

    Parameters
    ----------
    n_candidates : scored for each passage; the default of 100 takes a model 20 times as long.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    collection, questions, queries = subset(n_sections)
    model = CausalScorer(ScorerSettings(backend="packaged"))
    scorers: dict[str, PassageScorer] = {BASELINE: UnigramScorer(), "packaged": model}
    seconds, found = {}, {}
    for name, scorer in scorers.items():
        started = time.perf_counter()
        rankings = _rankings(collection, questions, scorer, n_candidates)
        seconds[name] = time.perf_counter() - started
        found[name] = {m: scores_of(ranked, queries, CUTOFFS) for m, ranked in rankings.items()}
    rows = []
    for method in METHODS:
        for metric in (f"{letter}@{k}" for k in CUTOFFS for letter in "pr"):
            values = {n: [row[metric] for row in own[method]] for n, own in found.items()}
            rows += [[method, metric, *cells] for cells in compared(values, BASELINE, decimals=1)]
    return Measurement(
        "LightPAL's scorers, a part of ODSum-Story",
        f"{len(collection.document_ids)} sections, {len(collection.chunk_ids)} passages, "
        f"{len(queries)} questions, {n_candidates} candidates a passage, K = {max(CUTOFFS)}; "
        "percent, paired by question, p adjusted (Holm) in each pair of "
        f"rows. Index and ranking took {seconds[BASELINE]:.0f} s by word frequencies and "
        f"{seconds['packaged']:,.0f} s by the packaged model.",
        ["method", "metric", "scorer", *COMPARED],
        rows,
    )


def _rankings(
    collection: Collection, questions: Questions, scorer: PassageScorer, n_candidates: int
) -> dict[str, pa.Table]:
    """Rows of `rankings` by method, index included."""
    found = candidates(collection, n_candidates)
    print(f"{scorer.identity}: {found.num_rows} passages", file=sys.stderr, flush=True)
    edges = passage_edges(
        found, context_scores(found, collection, scorer), collection, SETTINGS.graph.n_edges
    )
    walked = PassageGraphs.of(edges, VARIANTS[PASSAGE_WALK].graph, both_ways=True)
    tables = Tables(edges, walk_trust(collection, walked, LANGUAGE, SETTINGS.walk))
    of_model = tables, LANGUAGE, SETTINGS, lambda: scorer, max(CUTOFFS)
    return {method: rank(method, collection, questions, *of_model) for method in METHODS}


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--sections", type=int, default=SECTIONS, help="at most, of whole stories")
    parser.add_argument("--candidates", type=int, default=CANDIDATES, help="of each passage")
    chosen = parser.parse_args()
    publish("lightpal-scorer", measure(chosen.sections, chosen.candidates), chosen.store)


if __name__ == "__main__":
    main()
