"""Suites: YAML files that name methods, tasks, datasets and seeds, and studies, suites with `variants`.

    title: Table 2
    methods: [fno, videopde]
    tasks: [cont_1, cont_3]
    datasets: [navier_stokes]
    seeds: [0, 1, 2]
    capabilities: true    # one table: what methods can do, seconds and errors, as the VideoPDE paper's Table 1
    variants:
      frames_5: {dataset.sizes.frames: 5, dataset.duration: 0.25}
      frames_10: {dataset.sizes.frames: 10, dataset.duration: 0.5}

A study runs the same cells under several settings. A variant's records are a results tree of their own,
`<results>/studies/<suite>/<variant>/`: no leaderboard mixes them with others, and `leaderboard --results` reads each
like any other. So have the logs and predictions of its cells: `<runs>/studies/<suite>/<variant>/`. Fits are shared, as
always, by their settings. In the results tree the variant's settings are the plain ones:
what the command line changes beside them makes variants of their own there (`planning/variants.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.planning.registry import near, suite_files
from benchmark.planning.request import Request
from benchmark.planning.settings import read_yaml
from benchmark.records.folders import STUDIES, study_of

KEYS = ("title", "methods", "tasks", "datasets", "seeds", "profile", "samples", "capabilities", "variants")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def suite_path(name: str) -> Path:
    """A file, or the name of a suite that comes with the package."""
    known = {path.stem: path for path in suite_files()}
    if name in known:
        return known[name]
    if not Path(name).is_file():
        raise UserError(f"unknown suite {name!r}{near(name, known)}; or give a YAML file")
    return Path(name)


def read_suite(path: Path) -> dict[str, Any]:
    """A suite file as arguments of `Request`: `methods tasks datasets seeds`, and `profile`, `samples`."""
    values = read_yaml(path)
    unknown = [key for key in values if key not in KEYS]
    if unknown:
        raise UserError(f"{path}: unknown key {unknown[0]!r}; a suite has {', '.join(KEYS)}")
    missing = [key for key in ("methods", "tasks", "datasets") if not values.get(key)]
    if missing:
        raise UserError(f"{path}: {missing[0]} is missing; a suite needs methods, tasks and datasets")
    lists = {key: _list(values[key], key, path) for key in ("methods", "tasks", "datasets", "seeds") if key in values}
    return {**lists, **{key: _one(values[key], key, path) for key in ("profile", "samples") if key in values}}


def read_title(path: Path) -> str:
    return str(read_yaml(path).get("title", path.stem))


def shows_capabilities(path: Path) -> bool:
    """Whether the suite's table has beside its errors what methods can do."""
    value = read_yaml(path).get("capabilities", False)
    if not isinstance(value, bool):
        raise UserError(f"{path}: capabilities: expected true or false, got {value!r}")
    return value


def _list(value: Any, key: str, path: Path) -> tuple[Any, ...]:
    value = tuple(value) if isinstance(value, list) else (value,)
    kind = int if key == "seeds" else str
    if not all(isinstance(v, kind) and not isinstance(v, bool) for v in value):
        raise UserError(f"{path}: {key}: expected a list of {kind.__name__}, got {list(value)}")
    return value


def _one(value: Any, key: str, path: Path) -> Any:
    kind, example = (int, "samples: 4") if key == "samples" else (str, "profile: laptop")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UserError(f"{path}: {key}: expected one {kind.__name__}, as in `{example}`, got {value!r}")
    return value


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    variants: Mapping[str, Mapping[str, Any]]  # name -> settings it changes, as dotted keys

    def folder(self, results: Path, variant: str) -> Path:
        return results / STUDIES / self.name / variant

    def base(self, variant: str) -> tuple[str, ...]:
        """The overrides that make the variant."""
        return tuple(f"{key}={json.dumps(value)}" for key, value in self.variants[variant].items())

    def requests(self, request: Request) -> dict[str, Request]:
        """The request of each variant; overrides of the request itself win."""
        return {
            variant: replace(
                request,
                base=self.base(variant),
                results=self.folder(request.results, variant),
            )
            for variant in self.variants
        }


def read_study(path: Path) -> Study | None:
    """The study of a suite file; None for a suite without variants."""
    values = read_yaml(path)
    variants = values.get("variants")
    if variants is None:
        return None
    if not isinstance(variants, dict) or not variants:
        raise UserError(f"{path}: variants: expected a mapping of name: settings, got {variants!r}")
    for name, changes in variants.items():
        if not NAME.fullmatch(str(name)):
            raise UserError(f"{path}: variants: expected a name of letters, digits, '_', '.' and '-', got {name!r}")
        if not isinstance(changes, dict) or any(isinstance(value, dict) for value in changes.values()):
            raise UserError(f"{path}: {name}: expected dotted settings like dataset.sizes.frames: 5, got {changes!r}")
    return Study(path.stem, read_title(path), {str(name): c for name, c in variants.items()})


def base_of(results: Path) -> tuple[str, ...] | None:
    """What plain means in a results folder: a study's overrides in its own tree, None if no such study is known."""
    found = study_of(results)
    if found is None:
        return ()
    name, variant = found
    path = {path.stem: path for path in suite_files()}.get(name)
    study = read_study(path) if path else None
    return study.base(variant) if study and variant in study.variants else None
