"""One run as a Parquet file of one row, and several of them joined as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newsbot.errors import UserError
from newsbot.simulator.files import read_table, write_parquet
from newsbot.simulator.runs import Run, Steps
from newsbot.simulator.tables import Table, as_table, series_table, summary, traffic_table

_PLAIN = (
    "pages",
    "time",
    "waits",
    "wait_sum",
    "min_wait",
    "max_wait",
    "downloads",
    "found",
    "max_processing",
)
_LISTS = ("stale", "processing")
COLUMNS = ("strategy", *_PLAIN, "fresh_step", "traffic_step", *_LISTS, "cycles", "traffic")


def write_run(path: Path, strategy: str, run: Run) -> None:
    """Write one run."""
    row: dict[str, Any] = {
        "strategy": strategy,
        **{name: getattr(run, name) for name in _PLAIN},
        "fresh_step": run.steps.fresh,
        "traffic_step": run.steps.traffic,
        **{name: _as_list(getattr(run, name)) for name in _LISTS},
        "cycles": list(run.cycles),
        "traffic": run.traffic.tolist(),
    }
    write_parquet(path, as_table([row]))


def read_run(path: Path) -> tuple[str, Run]:
    """Return strategy and run. Raises :class:`UserError`."""
    rows = read_table(path, "a run", COLUMNS).to_pylist()
    if len(rows) != 1:
        raise UserError(f"{path}: holds {len(rows)} rows; a run has one")
    row = rows[0]
    try:
        run = Run(
            steps=Steps(row["fresh_step"], row["traffic_step"]),
            stale=np.array(row["stale"], np.int64),
            traffic=np.array(row["traffic"], np.int64),
            processing=None if row["processing"] is None else np.array(row["processing"], np.int64),
            cycles=tuple(row["cycles"]),
            **{name: row[name] for name in _PLAIN},
        )
        sizes = len(run.fresh_times()), len(run.traffic_times())
        if (len(run.stale), run.traffic.shape[1]) != sizes:
            raise ValueError("series of wrong length")
    except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
        raise UserError(f"{path}: is no run as scrapy simulate writes it ({error})") from error
    return str(row["strategy"]), run


def merge(named: Sequence[tuple[str, Run]]) -> dict[str, Table]:
    """Return the tables of several runs; runs over as many pages and as much time are one situation."""
    sizes = list(dict.fromkeys((run.pages, run.time) for _name, run in named))
    rows, keyed = [], []
    for variant, (name, run) in enumerate(named, 1):
        situation = sizes.index((run.pages, run.time)) + 1
        keyed.append((situation, variant, run))
        about = {"situation": situation, "variant": variant, "strategy": name}
        rows.append({**about, "pages": run.pages, "time": run.time, **summary([run])})
    return {"runs": as_table(rows), "series": series_table(keyed), "traffic": traffic_table(keyed)}


def _as_list(values: Any) -> Any:
    return None if values is None else values.tolist()
