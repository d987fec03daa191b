"""A cell's names made real: the method class, the task, the dataset, their settings, and the key of the result.

The key is the digest of what can move the numbers: the settings of method, dataset and task, the versions of method,
dataset and scorer, the data itself, a plugin's tasks that a fit learns from, the number of samples and test
trajectories, the mask seed. What is not of the suite adds the sha256 of its source. The code of the suite's tasks has
no version: a changed law of noise needs a setting of its own.

A cell whose identity is not that of the plain request, the one without any changes, is a variant.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmark.core import Dataset, Method, Split, Task
from benchmark.errors import UserError
from benchmark.planning.registry import SUITE, PluginError, Registry, registry
from benchmark.planning.request import Request
from benchmark.planning.settings import SettingsError, has, keys, near_key, resolve, scaled, without
from benchmark.planning.support import scored_length, unsupported
from benchmark.planning.variants import departure, name_of
from benchmark.records.cell import Cell, digest, plain
from benchmark.records.folders import run_folder
from benchmark.records.record import SCORER_VERSION, About

FIT = "fit.json"  # written last: with it a fit is whole


class NoProfile(UserError):
    """A method or dataset without settings for the profile."""


@dataclass(frozen=True)
class Resolved:
    """All the runner needs for a cell."""

    cell: Cell
    method: type[Method]
    settings: Any  # the method's
    task: Task
    dataset: Dataset
    tasks: tuple[Task, ...]  # what a fit is for
    identity: dict[str, Any]  # everything that can move the numbers
    fit_identity: dict[str, Any]
    unsupported: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # of a variant

    @property
    def key(self) -> str:
        return digest(self.identity)

    @property
    def about(self) -> About:
        return about(self.method, self.method(self.settings).aids(self.task))

    @property
    def fit_name(self) -> str:
        """The run folder's last part: a fit of scope `dataset` is shared by all tasks."""
        shared = "all" if self.method.scope == "dataset" else self.cell.task
        return f"{shared}-{digest(self.fit_identity)[:16]}"

    def fit_folder(self, runs: Path) -> Path:
        return run_folder(runs, self.cell) / self.fit_name

    @property
    def splits(self) -> tuple[Split, ...]:
        """A method without a fit needs no training data."""
        return ("test",) if self.method.scope == "instance" else ("train", "valid", "test")

    @property
    def scored_length(self) -> int:
        """Frames of a test trajectory."""
        return scored_length(self.task, self.dataset)


def method_versions(method: type[Method]) -> dict[str, Any]:
    """Of a method, and of those that it is made of."""
    parts = {part.__name__: method_versions(part) for part in method.parts}
    return {"method": method.version} | ({"parts": parts} if parts else {})


def about(method: type[Method], aids: tuple[str, ...] = ()) -> About:
    """What a method declares of itself, for its records."""
    return About(method.kind, method.uses_equation, method.scope, tuple(aids), method.stochastic)


def is_fitted(folder: Path) -> bool:
    """Whether a fit's folder holds a whole one."""
    return (folder / FIT).exists()


@dataclass
class Resolver:
    """Resolves cells of one request; what several cells share is made once."""

    request: Request
    registry: Registry
    changes: dict[str, Any]
    _stored: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request) -> Resolver:
        return cls(request, registry(request.plugins), request.changes())

    def names(self, kind: str) -> list[str]:
        """The names asked for, `all` spelled out, each once and known."""
        asked = getattr(self.request, kind)
        names = self.registry.names(kind) if "all" in asked else asked
        return [self.registry.check(kind, name) for name in dict.fromkeys(names)]

    def method(self, name: str) -> type[Method]:
        return check_signature(self.registry.load("methods", name), name, self.registry.origin["methods", name])

    def method_settings(self, name: str) -> Any:
        method = self.method(name)
        if self.request.profile not in method.profiles:
            raise NoProfile(f"{name} has no settings for profile {self.request.profile!r}{_has(method.profiles)}")
        settings = method.profiles[self.request.profile]
        changed = resolve(settings, self._own(self._part(None), settings), name)
        return scaled(changed, self.budget_settings(name), self.request.budget, name)

    def budget_settings(self, name: str) -> tuple[str, ...]:
        """What a method's length of training is set by; nothing for one that has none."""
        method = self.method(name)
        for key in method.budget_settings:
            if not has(method.profiles[self.request.profile], key):
                raise PluginError(f"method {name!r}: budget_settings: it has no setting {key!r}")
        return method.budget_settings

    def task(self, name: str) -> Task:
        task = self.registry.load("tasks", name)
        task = task() if isinstance(task, type) else task
        if not isinstance(task, Task):
            raise PluginError(f"task {name!r}: expected a Task, got {type(task).__name__}")
        return resolve(task, self._own(self._part("task"), task), name)

    def dataset(self, name: str) -> Dataset:
        cls = self.registry.load("datasets", name)
        if not (isinstance(cls, type) and issubclass(cls, Dataset)):
            raise PluginError(f"dataset {name!r}: expected a subclass of Dataset, got {cls!r}")
        if self.request.profile not in cls.profiles:
            raise NoProfile(f"{name} has no settings for profile {self.request.profile!r}{_has(cls.profiles)}")
        settings = cls.profiles[self.request.profile]
        return changed_dataset(cls, settings, self._own(self._part("dataset"), settings), name)

    def check_changes(self) -> None:
        """Every override must be a setting of something that was asked for."""
        for prefix, kind, load in (
            (None, "methods", self.method_settings),
            ("task", "tasks", self.task),
            ("dataset", "datasets", lambda name: self.dataset(name).settings),
        ):
            if not (part := self._part(prefix)):
                continue
            owners = [value for name in self.names(kind) if (value := _try(load, name)) is not None]
            known = {key for owner in owners for key in keys(owner)}
            for key in part:
                if not any(has(owner, key) for owner in owners):
                    whole = key if prefix is None else f"{prefix}.{key}"
                    hint = near_key(key, known) if known else ""
                    raise SettingsError(f"unknown setting {whole!r}: none of the {kind} asked for has it{hint}")

    def resolve(self, cell: Cell) -> Resolved:
        """With the variant that the request makes of the cell. Raises NoProfile, PluginError or SettingsError."""
        resolved = self._resolve(replace(cell, variant=""))
        if self._plain is self:
            return resolved
        changes = self._departure(resolved)
        if not changes:
            return resolved
        unscaled = changes if self.request.budget == 1 else self._departure(self._unscaled._resolve(resolved.cell))
        variant = name_of(changes, unscaled, self.request)
        return replace(resolved, cell=replace(cell, variant=variant), changes=changes)

    def _departure(self, resolved: Resolved) -> dict[str, Any]:
        """What sets a cell apart from the plain one."""
        return departure(self._plain._resolve(resolved.cell).identity, resolved.identity, self.request.limit)

    @cached_property
    def _plain(self) -> Resolver:
        """For the same cells without changes."""
        plain = self.request.plain()
        return self if plain == self.request else Resolver(plain, self.registry, plain.changes())

    @cached_property
    def _unscaled(self) -> Resolver:
        """For the same cells at the budget that their settings have."""
        return Resolver(replace(self.request, budget=1.0), self.registry, self.changes)

    def sources(self, cell: Cell) -> dict[str, Any]:
        """What the key has of a method, task or dataset that is not the suite's own; nothing of the suite's own."""
        names = {"method": cell.method, "task": cell.task, "dataset": cell.dataset}
        found = {part: self.registry.source(f"{part}s", name) for part, name in names.items()}
        foreign = {part: source for part, source in found.items() if source is not None}
        return {"sources": foreign} if foreign else {}

    def _resolve(self, cell: Cell) -> Resolved:
        method, settings = self.method(cell.method), self.method_settings(cell.method)
        task, dataset = self.task(cell.task), self.dataset(cell.dataset)
        instance = method(settings)
        reason = unsupported(instance, task, dataset)
        tasks = (task,) if method.scope != "dataset" else self._training_tasks(instance, dataset) or (task,)
        common = {
            "method": without(plain(settings), method.memory_settings),
            "dataset": plain(dataset.settings),
            "versions": {"dataset": dataset.version, "scorer": SCORER_VERSION, **method_versions(method)},
            "data": self._data_identity(cell.dataset, method.scope),
        }
        return Resolved(
            cell, method, settings, task, dataset, tasks,
            identity=common
            | {"task": _plain_task(task), "evaluation": self._evaluation(dataset, instance)}
            | self._added_training(task, tasks)
            | self.sources(cell),
            fit_identity=_fit_identity(common, method, cell, {t.name: self._learned(t) for t in tasks})
            | _taught(self.sources(cell)),
            unsupported=reason,
        )  # fmt: skip

    def _training_tasks(self, method: Method, dataset: Dataset) -> tuple[Task, ...]:
        """What a fit of scope `dataset` learns from, whatever was asked for; it serves every other task as well."""
        tasks = (_try(self.task, name) for name in self.registry.names("tasks"))
        wanted = (task for task in tasks if task is not None and task.trains)
        return tuple(task for task in wanted if not unsupported(method, task, dataset))

    def _added_training(self, task: Task, tasks: Sequence[Task]) -> dict[str, Any]:
        """The suite's own training tasks follow from the cell; a plugin's change what a fit has learned."""
        added = [t for t in tasks if t.name != task.name and self.registry.origin.get(("tasks", t.name)) != SUITE]
        return {"training": {t.name: self._learned(t) for t in added}} if added else {}

    def _learned(self, task: Task) -> Any:
        """A task that a fit learns from."""
        known = ("tasks", task.name) in self.registry.origin
        source = self.registry.source("tasks", task.name) if known else None
        return _plain_task(task) | ({"source": source} if source else {})

    def _evaluation(self, dataset: Dataset, method: Method) -> dict[str, int]:
        """`--limit` and the method itself both bound how many test trajectories are scored."""
        bounds = (dataset.sizes.test, self.request.limit, method.scored_trajectories())
        count = min(bound for bound in bounds if bound)
        samples = self.request.samples_of(method.stochastic)
        return {"samples": samples, "trajectories": count, "mask_seed": self.request.mask_seed}

    def stored(self, name: str) -> dict[str, str]:
        """What is on disk of a dataset."""
        if name not in self._stored:
            self._stored[name] = stored_data(self.dataset(name), self.request.data)
        return self._stored[name]

    def _data_identity(self, name: str, scope: str) -> dict[str, str]:
        """What the suite generates follows from settings and version, so only imported files add anything."""
        splits = ("test",) if scope == "instance" else ("train", "valid", "test")
        return {split: self.stored(name)[split].replace("missing", "generated") for split in splits}

    def _part(self, prefix: str | None) -> dict[str, Any]:
        """The overrides of the method (None), or those under `dataset.` or `task.` without that prefix."""
        heads = {key: key.partition(".")[0] for key in self.changes}
        if prefix is None:
            return {key: self.changes[key] for key, head in heads.items() if head not in ("dataset", "task")}
        return {key[len(prefix) + 1 :]: self.changes[key] for key, head in heads.items() if head == prefix}

    @staticmethod
    def _own(changes: Mapping[str, Any], settings: Any) -> dict[str, Any]:
        return {key: value for key, value in changes.items() if has(settings, key)}


def check_signature(method: Any, name: str, origin: str) -> type[Method]:
    """A subclass of Method whose fit and predict can be called as the runner calls them."""
    where = f"method {name!r} ({origin})"
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise PluginError(f"{where}: expected a subclass of benchmark.core.Method, got {method!r}")
    if inspect.isabstract(method):
        raise PluginError(f"{where}: {', '.join(sorted(method.__abstractmethods__))} must be defined")
    if not isinstance(getattr(method, "profiles", None), Mapping):
        raise PluginError(f"{where}: expected a dict `profiles` of profile name -> settings")
    for call, names in (("fit", "train valid tasks seed run"), ("predict", "problem seed samples")):
        signature = inspect.signature(getattr(method, call))
        try:
            signature.bind(None, *names.split())
        except TypeError as error:
            wanted = ", ".join(["self", *names.split()])
            raise PluginError(f"{where}: {call} must take ({wanted}), it takes {signature}") from error
    if method.scope not in ("task", "dataset", "instance"):
        raise PluginError(f"{where}: expected scope task, dataset or instance, got {method.scope!r}")
    if method.kind not in ("reference", "learned"):
        raise PluginError(f"{where}: expected kind reference or learned, got {method.kind!r}")
    return method


def changed_dataset(cls: type[Dataset], settings: Any, changes: Mapping[str, Any], name: str) -> Dataset:
    """The dataset with the changes; those that its grid, its equation or its layout refuses are the user's mistake."""
    dataset = cls(resolve(settings, changes, name))
    if not changes:
        return dataset
    try:
        dataset.grid(dataset.sizes.frames)
        dataset.equation()
        dataset.layout("train")
    except ValueError as error:
        raise SettingsError(f"{name}: {', '.join(changes)}: {error}") from error
    return dataset


def stored_data(dataset: Dataset, root: Path) -> dict[str, str]:
    """Of each split: missing, generated, or the fingerprint of the file that was imported."""
    from datasets.store import DataError, open_split

    result = {}
    splits: tuple[Split, ...] = ("train", "valid", "test")
    for split in splits:
        try:
            stored = open_split(dataset, split, root)
        except DataError:  # not there, or too short: generated on first use
            result[split] = "missing"
        else:
            result[split] = "generated" if stored.source == "generated" else stored.fingerprint
    return result


def _fit_identity(common: dict[str, Any], method: type[Method], cell: Cell, tasks: dict[str, Any]) -> dict[str, Any]:
    """A fit depends neither on the test set nor on how it is predicted and scored."""
    dataset = {**common["dataset"], "sizes": {**common["dataset"]["sizes"], "test": None, "long_frames": None}}
    versions = {k: v for k, v in common["versions"].items() if k != "scorer"}
    data = {k: v for k, v in common["data"].items() if k != "test"}
    learning = without(common["method"], method.sampling_settings)
    return {"method": learning, "dataset": dataset, "versions": versions, "data": data,
            "cell": [cell.method, cell.dataset, cell.profile, cell.seed], "tasks": tasks}  # fmt: skip


def _taught(sources: dict[str, Any]) -> dict[str, Any]:
    """The sources that a fit depends on: the tasks it learns from are named apart."""
    foreign = without(sources.get("sources", {}), ["task"])
    return {"sources": foreign} if foreign else {}


def _plain_task(task: Task) -> Any:
    return plain(task) if is_dataclass(task) else {"name": task.name, "family": task.family, "rate": task.rate}


def _has(profiles: Mapping[str, Any]) -> str:
    return f" (it has {', '.join(profiles) or 'none'})"


def _try(load: Any, name: str) -> Any:
    try:
        return load(name)
    except (NoProfile, PluginError):  # reported cell by cell
        return None
