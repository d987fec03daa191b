"""Every value of every test trajectory in one tidy table, for other programs: a row a record, metric and trajectory.

Trajectories are numbered as in the test set; where a task draws several masks of each, they follow one another.
Curves are not in it: records keep their mean and interval alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.records.files import replacing
from benchmark.records.record import Record

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".parquet")
LABELS = ("profile", "dataset", "task", "method", "variant", "seed", "kind", "data_source", "data_fingerprint", "key")
COLUMNS = (*LABELS, "metric", "unit", "trajectory", "run", "value")


def values_table(records: Sequence[Record], metrics: Collection[str] = ()) -> pd.DataFrame:
    """`metrics`: those wanted, all if empty. `run` says which trajectories are cut out of one run."""
    import numpy as np
    import pandas as pd

    done = [record for record in records if record.state == "done"]
    parts = [
        (record, name, score)
        for record in done
        for name, score in record.metrics.items()
        if score.values and (not metrics or name in metrics)
    ]
    lengths = [len(score.values) for _, _, score in parts]
    known = {record.cell: _labels(record) for record in done}
    labels = [known[record.cell] for record, _, _ in parts]
    columns: dict[str, Any] = {name: _repeated([one[name] for one in labels], lengths) for name in LABELS}
    columns["metric"] = _repeated([name for _, name, _ in parts], lengths)
    columns["unit"] = _repeated([score.unit for _, _, score in parts], lengths)
    columns["trajectory"] = _joined([np.arange(n) for n in lengths], "int32")
    columns["run"] = _joined([r.groups or range(n) for (r, _, _), n in zip(parts, lengths, strict=True)], "int32")
    columns["value"] = _joined([score.values for _, _, score in parts], "float64")
    return pd.DataFrame(columns, columns=list(COLUMNS))


def write_values(table: pd.DataFrame, path: Path) -> None:
    """Whole or not at all; the ending says how."""
    if path.suffix not in ENDINGS:
        raise UserError(f"{path}: expected a file ending in {' or '.join(ENDINGS)}")
    if path.suffix == ".parquet":
        _check_pyarrow(path)
    with replacing(path) as part:
        if path.suffix == ".csv":
            table.to_csv(part, index=False)
        else:
            table.to_parquet(part, index=False, engine="pyarrow")


def _check_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"{path}: parquet needs pyarrow: pip install 'pde-video-benchmark[parquet]'; or write a .csv"
        ) from error


def _labels(record: Record) -> dict[str, Any]:
    cell = record.cell
    return {
        **{name: getattr(cell, name) for name in ("profile", "dataset", "task", "method", "variant", "seed")},
        "kind": record.about.kind if record.about else "",
        "data_source": record.source,
        "data_fingerprint": str(record.provenance.get("data_fingerprint") or ""),
        "key": record.key,
    }


def _repeated(values: Sequence[Any], lengths: Sequence[int]) -> Any:
    """A column of few values, each many times over: numbers as they are, words as categories."""
    import numpy as np
    import pandas as pd

    if all(isinstance(value, int) for value in values):
        return np.repeat(np.asarray(values, dtype="int64"), lengths)
    codes, names = pd.factorize(np.asarray(values, dtype=object))
    return pd.Categorical.from_codes(np.repeat(codes, lengths).astype("int32"), names)


def _joined(parts: Sequence[Any], dtype: str) -> Any:
    import numpy as np

    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts]) if parts else np.empty(0, dtype)
