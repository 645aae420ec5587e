"""Self-preference: models that judge their own answers tend to prefer them."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from gsum_assets.evaluation.judges.material import Question
from gsum_resources.store.arrow import pc


def is_own_judge(judge: str, question: Question, methods: Iterable[str]) -> bool:
    """Return whether the judging model also wrote the answer of one of the methods.

    Models are compared by name. The same name at two servers counts as the same model.

    Parameters
    ----------
    judge : judging language model; empty without one.
    """
    return bool(judge) and judge in {question.writers.get(method) for method in methods}


def judged_by_writer(judgements: pa.Table) -> Sequence[str]:
    """Return the methods with a verdict of the model that wrote their answer, sorted.

    Both methods of a pair are included, since the verdict depends on both answers.
    """
    own_judgements = judgements.filter(judgements["is_own"])
    both = pa.concat_arrays(
        [own_judgements[name].combine_chunks().drop_null() for name in ("method", "opponent")]
    )
    return sorted(pc.unique(both).to_pylist())


def own_judge_note(judgements: pa.Table) -> str | None:
    """Return a sentence on verdicts of a model on its own answers; None without any."""
    if not (methods := judged_by_writer(judgements)):
        return None
    models = sorted(set(judgements.filter(judgements["is_own"])["model"].to_pylist()))
    return (
        f"The judge {', '.join(models)} also wrote answers that it judged "
        f"({', '.join(methods)}), and models tend to prefer their own; choose another model in "
        "gsum.toml, table [judge]."
    )
