"""Read what a home has: tables, SQL, the leaderboard, answers, differences of methods."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from gsum.answers import Answer
from gsum.differences import Difference, paired
from gsum.names import family_named, unknown
from gsum_assets.answering.conversation import Conversation
from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.corpus.find import find_corpus
from gsum_assets.pipeline.tables import RESULT_TABLES, TABLES
from gsum_assets.registry.families import FAMILIES, views
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_resources.settings.home import Home as Folders
from gsum_resources.settings.paths import folders_in, is_remote
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.locked_property import locked_property
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

if TYPE_CHECKING:
    import pandas as pd

_ALL = "all"


class QueryError(ValueError):
    """A SQL query that DuckDB cannot run; the message is DuckDB's."""


def open_home(path: str | Path | None = None, warehouse: str | None = None) -> "Home":
    """Open the home of the pipeline at a folder, to read it.

    Parameters
    ----------
    path : the folder that has `corpora/`; by default `$GSUM_HOME`, or `data`.
    warehouse : folder or URL of the tables, where they are not in `path`; by default that of
        `$GSUM_WAREHOUSE`, where no path is given either.

    Raises
    ------
    FileNotFoundError
        If there is neither a folder of corpora nor a warehouse.

    Examples
    --------
    >>> import gsum
    >>> home = gsum.open("data")
    >>> home.corpora
    ['harbour']
    >>> home.table("chunks", corpus="harbour")[["document_id", "n_tokens"]].head(2)
      document_id  n_tokens
    0     library        46
    1     library        15
    """
    if path is None:
        folders = Folders.from_environment()
    else:
        root = Path(path).expanduser().resolve()
        folders = Folders(root, str(root / "warehouse"))
    if warehouse is not None:
        folders = replace(folders, warehouse=warehouse)
    if "://" not in folders.warehouse and not is_remote(folders.corpora):
        required = [folders.corpora, Path(folders.warehouse)]
        if not any(folder.is_dir() for folder in required):
            raise FileNotFoundError(
                f"{folders.root} is no home of gsum: it has neither corpora/ nor warehouse/; make "
                "a corpus there by `gsum init FOLDER`, or name another folder"
            )
    return Home(folders)


class Home:
    """A home of the pipeline, opened to be read; see `gsum.open`.

    Nothing is written but replies of models and vectors of questions, by `ask`.
    """

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._store = ParquetStore(folders.warehouse)

    def __repr__(self) -> str:
        return f"<gsum.Home {self._folders.root}: {', '.join(self.corpora) or 'no corpus'}>"

    @locked_property
    def _workspace(self) -> Workspace:
        return open_workspace(self._folders, quick=True)

    @property
    def corpora(self) -> list[str]:
        """The names of the corpora."""
        return folders_in(self._folders.corpora)

    @property
    def tables(self) -> "pd.DataFrame":
        """Every table: `one_row_per`, its columns, and in how many files it is stored.

        Examples
        --------
        >>> import gsum
        >>> tables = gsum.open("data").tables
        >>> tables.loc["gor.record_edges", "one_row_per"]
        'pair of a response and a node that it used'
        >>> int(tables.loc["leaderboard", "files"])
        1
        """
        import pandas as pd

        return pd.DataFrame(
            [
                (name, table.row, [column.name for column in table.columns], self._n_files(table))
                for name, table in TABLES.items()
            ],
            columns=["table", "one_row_per", "columns", "files"],
        ).set_index("table")

    def table(
        self,
        name: str,
        corpus: str | None = None,
        method: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "pd.DataFrame":
        """Return the rows of a table.

        Parameters
        ----------
        name : of the table, as in `tables`: `"gor.record_edges"`.
        corpus : whose rows are returned; by default those of all corpora.
        method : whose rows are returned, of a table that has rows by method.
        columns : to read; by default all. `corpus`, and `bucket` and `method` where the table has
            them, always follow.

        Raises
        ------
        UnknownNameError
            If there is no such table, method or column.
        CorpusError
            If there is no such corpus.
        LookupError
            If nothing is stored yet; the message has the command that changes this.

        Examples
        --------
        >>> import gsum
        >>> home = gsum.open("data")
        >>> home.table("documents", corpus="harbour", columns=["document_id", "n_words"])
          document_id  n_words   corpus bucket
        0     library       55  harbour     00
        1        mill       58  harbour     03
        2       ferry       54  harbour     06
        >>> home.table("summaries", corpus="harbour", method="bm25").shape
        (7, 12)
        >>> home.table("sumaries")
        Traceback (most recent call last):
        ...
        gsum.names.UnknownNameError: unknown table 'sumaries'; did you mean 'summaries' or ...
        """
        if name not in TABLES:
            raise unknown("table", name, list(TABLES))
        table = TABLES[name]
        if corpus is not None and not self._store.partitions(table, corpus):
            find_corpus(self._folders.corpora, corpus)
        if strangers := sorted(set(columns or ()) - {*table.schema.names, *table.dimensions}):
            raise unknown(f"column of {name}", strangers[0], table.schema.names)
        if name in APPENDED:
            return self._appended(table, corpus, columns).to_pandas()
        partitions = self._partitions(table, corpus, method)
        chosen = [n for n in table.schema.names if n in columns] if columns else None
        return self._store.read(table, partitions, chosen)[0].to_pandas()

    def sql(self, query: str) -> "pd.DataFrame":
        """Return what a DuckDB query gives; each table is a view, as in `gsum sql`.

        Raises
        ------
        QueryError
            If DuckDB cannot run it.

        Examples
        --------
        >>> import gsum
        >>> gsum.open("data").sql("select corpus, count(*) as documents from documents group by 1")
            corpus  documents
        0  harbour          3
        """
        import duckdb
        import pandas as pd

        from gsum_resources.store.catalogue import define_views

        with duckdb.connect() as connection:
            define_views(connection, self._store, TABLES.values(), views())
            try:
                relation = connection.sql(query)
                return pd.DataFrame() if relation is None else relation.df()
            except duckdb.Error as error:
                raise QueryError(str(error)) from None

    def leaderboard(self, corpus: str, split: str = _ALL) -> "pd.DataFrame":
        """Return the mean of every metric by kind of question and method, best first.

        Intervals and tests are in `table("leaderboard")` and `table("comparisons")`.

        Parameters
        ----------
        split : of the questions, "train", "dev" or "test"; "all" together.

        Raises
        ------
        LookupError
            If there is no leaderboard yet, or none of the split.

        Examples
        --------
        >>> import gsum
        >>> gsum.open("data").leaderboard("harbour")[["rouge1", "rougeL"]].round(3)
                        rouge1  rougeL
        kind    method
        general bm25     0.316   0.258
                dense    0.303   0.272
                gor      0.298   0.258
        """
        import pandas as pd

        from gsum_assets.evaluation.leaderboard import ranked_by_kind

        find_corpus(self._folders.corpora, corpus)
        board, _ = self._store.read(
            TABLES["leaderboard"], self._partitions(TABLES["leaderboard"], corpus, None)
        )
        rows = {
            (kind, method): {metric: row["mean"] for metric, row in metrics.items()}
            for kind, methods in ranked_by_kind(board, split).items()
            for method, metrics in methods
        }
        if not rows:
            splits = ", ".join(sorted(set(board["split"].to_pylist()))) or "none"
            raise LookupError(
                f"the leaderboard of corpus '{corpus}' has nothing on split '{split}'; splits: "
                f"{splits}. Answers are scored where queries.jsonl has references"
            )
        index = pd.MultiIndex.from_tuples(rows, names=["kind", "method"])
        return pd.DataFrame(list(rows.values()), index=index)

    def ask(
        self,
        corpus: str | Sequence[str],
        question: str,
        method: str = "",
        document_id: str | None = None,
        explain: bool = False,
        where: str = "",
    ) -> Answer:
        """Answer a question from the stored tables, as `gsum ask` does.

        Parameters
        ----------
        corpus : its name; or several names: the best passages of all of them are read.
        method : that finds the passages; "": the first of `passage_walk`, `evidence` and `hybrid`
            that is indexed, `evidence` first with `document_id`.
        document_id : asks one document alone, by its id or title.
        explain : whether the answer shall say how it came about.
        where : condition in SQL on the documents that are asked, over their columns and metadata:
            "date >= '2024-01-01' and kind = 'minutes'"; "": all documents.

        Raises
        ------
        CorpusError
            If there is no such corpus, method or document, or what the method reads is not stored.

        Examples
        --------
        >>> import gsum
        >>> answer = gsum.open("data").ask("harbour", "When was the mill built?", method="bm25")
        >>> answer.sources[["title", "location"]].head(1)
          title         location
        0  mill  passage 1 of 2
        """
        corpora = [corpus] if isinstance(corpus, str) else corpus
        conversation = Conversation(self._workspace, corpora, method, document_id, explain, where)
        return Answer(conversation.ask(question), str(self._folders.settings_file))

    def compare(
        self,
        first: str,
        second: str,
        metric: str = "rouge1",
        corpus: str | None = None,
        split: str = _ALL,
        kind: str | None = None,
    ) -> Difference:
        """Compare two methods on the questions that both answered.

        The test is that of the table `comparisons`, whose `p_adjusted` corrects it for the number
        of pairs.

        Parameters
        ----------
        metric : as in the table `scores`.
        corpus : whose questions are compared; may be left out where there is only one.
        split : of the questions, "train", "dev" or "test"; "all" together.
        kind : of the questions, "general" or "specific"; by default all together.

        Raises
        ------
        UnknownNameError
            If there is no such method, or it has no such score.
        LookupError
            If a method has no scores yet.
        ValueError
            If both have no question in common.
        TypeError
            If one is no name, such as a result of `gsum.run`.

        Examples
        --------
        >>> import gsum
        >>> gsum.open("data").compare("bm25", "dense", metric="rouge1", corpus="harbour")
        rouge1: bm25 - dense = +0.013 (95% interval -0.083 to +0.109), p = 1.000, 7 questions
        """
        for given in (first, second):
            if not isinstance(given, str):
                raise TypeError(
                    f"Home.compare takes the names of two methods, not {given!r:.60}; results of "
                    "gsum.run are compared by gsum.compare(first, second)"
                )
        if corpus is None:
            if len(self.corpora) != 1:
                known = ", ".join(self.corpora)
                raise ValueError(f"there are the corpora {known}; name one: corpus=…")
            corpus = self.corpora[0]
        questions = self.table("queries", corpus).set_index("query_id")
        if split != _ALL:
            questions = questions.loc[questions["split"] == split]
        if kind is not None:
            questions = questions.loc[questions["kind"] == kind]
        first_scores, second_scores = (
            scores.loc[scores.index.isin(questions.index)]
            for scores in (self._scores(corpus, method, metric) for method in (first, second))
        )
        texts = questions["text"].to_dict()
        return paired((first, second), metric, first_scores, second_scores, texts)

    def _scores(self, corpus: str, method: str, metric: str) -> "pd.Series":
        """Return the scores of the answers of a method by question."""
        rows = self.table("scores", corpus, method)
        known = sorted(set(rows["metric"]))
        if metric not in known:
            raise unknown(f"metric of {method} on corpus '{corpus}'", metric, known)
        return rows.loc[rows["metric"] == metric].set_index("query_id")["value"]

    def _n_files(self, table: Table) -> int:
        if table.name in APPENDED:
            return len(self._store.glob(f"{table.name}/*/*.parquet"))
        return len(self._store.partitions(table))

    def _partitions(
        self, table: Table, corpus: str | None, method: str | Sequence[str] | None
    ) -> list[Partition]:
        """Return the partitions that are wanted; at least one."""
        methods = [method] if isinstance(method, str) else list(method or ())
        if methods and "method" not in table.dimensions:
            raise unknown(f"dimension of {table.name}", "method", table.dimensions)
        for name in methods:
            family_named(name)
        there = self._store.partitions(table, corpus)
        partitions = [p for p in there if not methods or p.method in methods]
        missing = sorted(set(methods) - {p.method for p in partitions})
        if partitions and not missing:
            return partitions
        named = f" of {missing[0]}" if missing else ""
        where = f"corpus '{corpus}'" if corpus else self._folders.root
        raise LookupError(
            f"table '{table.name}' has no rows{named} in {where} yet; run "
            f"`{_command(table, corpus, missing)}`"
        )

    def _appended(
        self, table: Table, corpus: str | None, columns: Sequence[str] | None
    ) -> pa.Table:
        """Return a table that grows by files."""
        parts = []
        for name in [corpus] if corpus else self.corpora:
            rows = read_appended(self._store, table, name)
            rows = rows.select(list(columns)) if columns else rows
            parts.append(rows.append_column("corpus", pa.repeat(name, rows.num_rows)))
        return pa.concat_tables(parts) if parts else table.empty()


def _command(table: Table, corpus: str | None, methods: Sequence[str]) -> str:
    """Return the command that makes the rows of a table."""
    family = next((f for f in FAMILIES if table.name.startswith(f"{f.name}.")), None)
    if not methods and family:
        methods = family.default[:1] or family.methods[:1]
    if not methods and table.name in RESULT_TABLES:
        methods = [DEFAULT_METHOD]
    wanted = f" --methods {','.join(methods)}" if methods else ""
    return f"gsum run {corpus or 'CORPUS'}{wanted}"
