"""What `describe` says of metrics, suites and profiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

GOALS = {"low": "lower", "high": "higher", "level": "neither: a level is to be met"}
PROFILES = {
    "smoke": "seconds on a CPU: 16 x 16 points, 4 frames; what the tests use",
    "laptop": "minutes on 2 CPU cores: 32 x 32 points, 8 frames; the default",
    "paper": "the paper's sizes: 128 x 128 (kolmogorov 256 x 256) points, 20 frames; for GPUs",
}

Cards = dict[str, Callable[[], dict[str, Any]]]


def other_cards(known: Any) -> dict[str, Cards]:
    """Kind -> name -> what makes its card."""
    from benchmark.planning.registry import suite_files
    from benchmark.scoring.metric_table import METRIC_TABLE

    return {
        "metrics": {name: partial(metric_card, name) for name in METRIC_TABLE},
        "suites": {path.stem: partial(suite_card, path, known) for path in suite_files()},
        "profiles": {name: partial(profile_card, name, known) for name in PROFILES},
    }


def metric_card(name: str) -> dict[str, Any]:
    from benchmark.scoring.metric_table import metric_info

    info = metric_info(name)
    return {
        "metric": name, "title": info.title, "unit": info.unit or "none", "better": GOALS[info.goal],
        "definition": info.definition, "all of them": "benchmark/scoring/METRICS.md",
    }  # fmt: skip


def suite_card(path: Any, known: Any) -> dict[str, Any]:
    from benchmark.planning.suites import read_study, read_suite, read_title

    suite, study = read_suite(path), read_study(path)
    names = {
        kind: known.names(kind) if suite[kind] == ("all",) else suite[kind] for kind in ("methods", "tasks", "datasets")
    }
    seeds, variants = suite.get("seeds", (0,)), dict(study.variants) if study else {}
    cells = len(seeds) * max(len(variants), 1)
    for chosen in names.values():
        cells *= len(chosen)
    card = {
        "suite": path.stem,
        "title": read_title(path),
        **{kind: ", ".join(chosen) for kind, chosen in names.items()},
    }
    card |= {"seeds": ", ".join(map(str, seeds)), "cells": cells}
    return card | ({"variants": variants} if variants else {}) | {"run": f"python -m benchmark run --suite {path.stem}"}


def profile_card(name: str, known: Any) -> dict[str, Any]:
    """The sizes of every dataset that has the profile."""
    sizes = {}
    for dataset_name in known.names("datasets"):
        cls = known.load("datasets", dataset_name)
        if name in cls.profiles:
            dataset = cls(cls.profiles[name])
            grid, s = dataset.grid(dataset.sizes.frames), dataset.sizes
            points = " x ".join(map(str, grid.shape))
            sizes[dataset_name] = f"{points} points, {s.frames} frames; {s.train} train, {s.valid} valid, {s.test} test"
    methods = [m for m in known.names("methods") if name in known.load("methods", m).profiles]
    return {"profile": name, "about": PROFILES[name], "datasets": sizes, "methods": ", ".join(methods)}
