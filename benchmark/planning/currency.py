"""Is a stored record still what a run would make now? Asked of any record, whatever request made it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmark.errors import UserError
from benchmark.planning.registry import Registry, registry
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolver
from benchmark.planning.settings import SettingsError
from benchmark.planning.suites import base_of
from benchmark.planning.variants import as_options
from benchmark.records.record import Record


class Currency:
    """`currency.of(record)`: True, False for stale, None where it cannot be told, as of a plugin that is not given."""

    def __init__(self, results: Path, data: Path, plugins: Iterable[Path] = ()):
        self.data, self.plugins = data, tuple(plugins)
        self.base = base_of(results)
        self.registry: Registry = registry(self.plugins)
        self._resolvers: dict[str, Resolver] = {}

    def of(self, record: Record) -> bool | None:
        if self.base is None:
            return None
        try:
            resolved = self._resolver(record).resolve(replace(record.cell, variant=""))
        except SettingsError:  # a change that the settings do not take any more
            return False
        except UserError:
            return None
        return resolved.key == record.key

    def _resolver(self, record: Record) -> Resolver:
        """Of the request that would make the record; records with the same changes share one."""
        profile, changes = record.cell.profile, record.changes
        name = json.dumps([profile, changes], sort_keys=True)
        if name not in self._resolvers:
            request = Request(
                ("all",),
                ("all",),
                profile=profile,
                data=self.data,
                plugins=self.plugins,
                base=self.base or (),
                **as_options(changes),
            )
            self._resolvers[name] = Resolver(request, self.registry, request.changes())
        return self._resolvers[name]
