"""Facts of a step for Dagster's catalogue: its tags, and the lines of its code."""

import inspect
from functools import partial
from typing import Any

import dagster as dg

from gsum_assets.pipeline.step import Step
from gsum_assets.registry.declared import STEP_OF

_GENERATES = {"language_model", "judge_model"}
_EMBEDS = {"embedding_model", "passage_scorer"}


def cost_class(step: Step) -> str:
    """Return which models a step may pay for: `llm`, `embedding` or `free`."""
    if step.pool == "llm" or _GENERATES & {*step.reads}:
        return "llm"
    return "embedding" if _EMBEDS & {*step.reads} else "free"


def tags_of(spec: dg.AssetSpec) -> dict[str, str]:
    """Return the tags of an asset: its family, cost class, kind of work, and whether it trains."""
    tags = {"gsum/family": spec.group_name or "", "gsum/cost": "free"}
    if step := STEP_OF.get(spec.key.to_user_string()):
        tags["gsum/cost"] = cost_class(step)
        if tags["gsum/cost"] == "llm":
            tags["gsum/work"] = "judging" if "judge_model" in step.reads else step.work
        if step.retraining:
            tags["gsum/trained"] = "true"
    return tags


def source_of(spec: dg.AssetSpec) -> dict[str, Any]:
    """Return metadata with file and line of the function that computes a step's tables.

    `dg.with_source_code_references` would name the function of `build.py` that runs every step.
    """
    step = STEP_OF.get(spec.key.to_user_string())
    make = step and step.make
    while isinstance(make, partial):
        make = make.func
    if not inspect.isfunction(make):
        return {}
    code = make.__code__
    label = f"{make.__module__}.{make.__qualname__}"
    reference = dg.LocalFileCodeReference(
        file_path=code.co_filename, line_number=code.co_firstlineno, label=label
    )
    return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[reference])}
