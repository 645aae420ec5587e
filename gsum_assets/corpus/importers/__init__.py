"""Benchmarks as corpora: `import_benchmark` writes a corpus folder from official files."""

from pathlib import Path

from gsum_assets.corpus.importers import (
    graphrag_bench,
    graphrag_package,
    lightrag_package,
    qmsum,
    question_answering,
    stories,
    summarization,
)
from gsum_assets.corpus.importers.benchmark import (
    Benchmark,
    Contents,
    ImportReport,
    write_corpus,
)
from gsum_assets.pipeline.corpus_settings import CorpusError, corpus_name_problem
from gsum_resources.messages.suggest import did_you_mean

BENCHMARKS: dict[str, Benchmark] = {
    **qmsum.BENCHMARKS,
    **stories.BENCHMARKS,
    **question_answering.BENCHMARKS,
    **summarization.BENCHMARKS,
    **graphrag_bench.BENCHMARKS,
    **graphrag_package.BENCHMARKS,
    **lightrag_package.BENCHMARKS,
}


def import_benchmark(
    name: str, source: Path, corpora: Path, corpus: str | None = None
) -> ImportReport:
    """Write a benchmark as the corpus folder `corpora/corpus`, in place of an earlier import.

    Parameter `source`: the dataset's folder, or one of its files, optionally with gzip. Raises
    `CorpusError` if the benchmark is unknown, the source is not as expected, or the corpus folder
    has files that no import wrote; an earlier import is then unchanged.
    """
    corpus = name if corpus is None else corpus
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus name '{corpus}' cannot be used: {problem}")
    contents = read_benchmark(name, source)
    return write_corpus(BENCHMARKS[name], contents, corpora / corpus)


def read_benchmark(name: str, source: Path) -> Contents:
    """Return the documents and questions of a benchmark's official files.

    Raises `CorpusError` if the benchmark is unknown, or the source is not as expected.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        raise CorpusError(f"no benchmark '{name}'{did_you_mean(name, BENCHMARKS)}")
    if not source.exists():
        raise CorpusError(f"{name}: {source} does not exist; expected {benchmark.expects}")
    try:
        contents = benchmark.read(source)
    except CorpusError as error:
        raise CorpusError(f"{name}: {error} (expected {benchmark.expects})") from error
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise CorpusError(
            f"{name}: {source} is not in the official format "
            f"({type(error).__name__}: {error}); expected {benchmark.expects}"
        ) from error
    contents.notes += [f"{n} {note}" for note, n in contents.counts.items() if n]
    return contents
