"""Records of earlier schemas, brought up to date.

    python -m benchmark.records.migrate results        # rewrites the files; reading upgrades in memory anyway

A schema has the settings that it renames or removes, as dotted paths, and steps of its own, such as one that gives a
new setting the value that older records had without saying so. A record keeps its numbers; its key follows the settings
wherever it was their digest.

    schema 1 -> 2   settings.task.window is called roll_out; settings.task.trains and `about` are new;
                    settings that only bound memory, or that nothing varied, are gone
    schema 2 -> 3   curves have a mean and an interval per frame, and no values of each trajectory: these were a quarter
                    of all bytes, and nothing read them
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmark.records.cell import digest

SCHEMA = 3
RENAMED: dict[int, dict[str, str]] = {2: {"task.window": "task.roll_out"}}  # by the first schema that has it so
_TRAINING = ("explosion", "tensorboard", "optimiser.eps")
REMOVED: dict[int, tuple[str, ...]] = {
    2: (
        "method.chunk",
        "method.fields",
        "method.pixelwise",
        *(f"method.{part}.{name}" for part in ("training", "vae_training") for name in _TRAINING),
    )
}

# What schema 1 did not say, for the tasks and methods that came with the suite.
TRAINING_TASKS = {"cont_1", "cont_3", "fwd_full", "inv_full", "fwd_partial", "inv_partial"}
REFERENCES = {"mean", "persistence", "nearest", "kriging", "solver"}
USE_EQUATION = {"solver", "pino", "pinn", "diffusionpde", "diffusionpde_ext", "shu"}
SCOPES = {
    **dict.fromkeys(
        ("mean", "videopde_unified", "diffusionpde", "diffusionpde_ext", "shu", "zhuang", "eci"), "dataset"
    ),
    **dict.fromkeys(("persistence", "nearest", "pinn"), "instance"),
}


def upgrade(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a record of this schema or an earlier one, in this schema; what came in is left as it was."""
    record, schema = dict(raw), int(raw["schema"])
    if schema == SCHEMA:
        return record | {"schema": SCHEMA}
    settings = copy.deepcopy(record.get("settings") or {})
    for since in range(schema + 1, SCHEMA + 1):
        rename(settings, RENAMED.get(since, {}))
        remove(settings, REMOVED.get(since, ()))
        for step in STEPS.get(since, ()):
            step(record, settings)
    record["schema"] = SCHEMA
    return _with_settings(record, settings)


def rename(settings: dict[str, Any], paths: Mapping[str, str]) -> None:
    for old, new in paths.items():
        owner, name = _owner(settings, old)
        if name in owner:
            *parts, new_name = new.split(".")
            target = settings
            for part in parts:
                target = target.setdefault(part, {})
            target[new_name] = owner.pop(name)


def remove(settings: dict[str, Any], paths: Iterable[str]) -> None:
    for path in paths:
        owner, name = _owner(settings, path)
        owner.pop(name, None)


def say_which_tasks_train(record: dict[str, Any], settings: dict[str, Any]) -> None:
    if "roll_out" in (settings.get("task") or {}):  # a task of the suite; a stranger's says only name, family and rate
        settings["task"].setdefault("trains", record["cell"]["task"] in TRAINING_TASKS)


def say_what_the_method_is(record: dict[str, Any], settings: dict[str, Any]) -> None:
    name = record["cell"]["method"]
    about = {
        "kind": "reference" if name in REFERENCES else "learned",
        "uses_equation": name in USE_EQUATION,
        "scope": SCOPES.get(name, "task"),
    }
    record.setdefault("about", about)


def drop_values_of_curves(record: dict[str, Any], settings: dict[str, Any]) -> None:
    metrics = record.get("metrics") or {}
    curves = {name: {**score, "values": []} for name, score in metrics.items() if isinstance(score["mean"], list)}
    if curves:
        record["metrics"] = {**metrics, **curves}


Step = Callable[[dict[str, Any], dict[str, Any]], None]
STEPS: dict[int, tuple[Step, ...]] = {  # a record and its settings, changed in place
    2: (say_which_tasks_train, say_what_the_method_is),
    3: (drop_values_of_curves,),
}


def _owner(settings: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The dict that a dotted path ends in, an empty one where there is none, and the last name."""
    *parts, name = path.split(".")
    for part in parts:
        found = settings.get(part)
        settings = found if isinstance(found, dict) else {}
    return settings, name


def _with_settings(record: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The record with new settings, and its key with them if it was the digest of the old ones."""
    old = record.get("settings") or {}
    if settings == old:
        return record
    record["settings"], key = settings, record.get("key")
    if key == digest(old):
        record["key"] = digest(settings)
        provenance = record.get("provenance") or {}
        if provenance.get("settings_hash") == key:
            record["provenance"] = {**provenance, "settings_hash": record["key"]}
    return record


def rewrite(results: Path) -> tuple[int, list[str]]:
    """Bring every record file under a folder up to date; how many have changed, and what could not be read."""
    from benchmark.records.files import read_record, to_text, write_text
    from benchmark.records.record import RecordError

    changed, problems = 0, []
    for path in sorted(results.rglob("*-s*.json")):
        if path.name.startswith("."):
            continue
        try:
            text = to_text(read_record(path))
        except (RecordError, OSError) as error:
            problems.append(str(error))
            continue
        if text != path.read_text(encoding="utf-8"):
            write_text(path, text)
            changed += 1
    return changed, problems


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m benchmark.records.migrate RESULTS, a folder of records", file=sys.stderr)
        return 2
    changed, problems = rewrite(Path(arguments[0]))
    print(f"{changed} records rewritten")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
