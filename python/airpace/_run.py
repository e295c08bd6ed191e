"""Runs and their results."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpace import _native

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SHOWN_ROWS = 20
"""Most rows of a table in a notebook."""


class Table:
    """A table of figures.

    It hands its columns over by the Arrow C stream interface, so that other libraries read it without copying:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, `table.to_pandas()`. Names of columns end with their unit.
    `table["delay_p95_ms"]` is a NumPy array of shape (rows,), a copy, with NaN for values that are absent; or a list of
    texts. `dict(table)` has all of them.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What the table is called: `stations`, `flows`, ...."""
        return self._native.name

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame whose columns share the memory of this table (needs pandas and pyarrow).

        They have Arrow's types, in which an absent value is `NA`. `pandas.DataFrame.from_arrow(table)` has NumPy's types, and
        copies.
        """
        import pandas
        import pyarrow

        frame: pandas.DataFrame = pyarrow.table(self).to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def keys(self) -> list[str]:
        """The names of the columns, as a dictionary's."""
        return self.columns

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> Any:
        return self._native[name]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<table {self.name} of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        columns = {name: self[name][:SHOWN_ROWS] for name in self.columns}
        shown = {name: values for name, values in columns.items() if not _is_empty(values)}
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(values[row])}</td>" for values in shown.values()) + "</tr>"
            for row in range(min(len(self), SHOWN_ROWS))
        )
        more = f"<p>{len(self) - SHOWN_ROWS} further rows</p>" if len(self) > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _is_empty(values: Any) -> bool:
    """Whether a column has no value in any row."""
    return all(value == "" or value != value for value in values)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return html.escape(value)
    if value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Result:
    """The result of a run.

    `stations` and `flows` have a row per station and flow; `slots` a row per slot and directed link; `decisions` a row
    per proxy, slot and station; `frames` a row per frame and `packets` a row per packet that arrived, both recorded only
    with `record__frames=True` and `record__packets=True`. `summary` holds everything that `airpace sim run --json`
    prints.
    """

    __slots__ = ("_json", "_run")

    def __init__(self, run: _native.Run) -> None:
        self._run = run
        self._json: dict[str, Any] | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """All figures of the run, as `airpace sim run --json` prints them."""
        if self._json is None:
            self._json = json.loads(self._run.json())
        return self._json

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Why figures are not to be trusted: `name`, `who` (a node or flow) and `text` of each reason; empty without any."""
        found: list[dict[str, str]] = self.summary["warnings"]
        return found

    @property
    def tables(self) -> dict[str, Table]:
        """Every table that was recorded, by its name."""
        return {name: self._table(name) for name in self._run.names()}

    @property
    def stations(self) -> Table:
        """A row per station: goodput, level, delay, packets, airtime."""
        return self._table("stations")

    @property
    def flows(self) -> Table:
        """A row per flow: goodput, delay, round-trip time, retransmissions, voice quality, page loads."""
        return self._table("flows")

    @property
    def slots(self) -> Table:
        """A row per slot and directed link."""
        return self._table("slots")

    @property
    def decisions(self) -> Table:
        """A row per proxy, slot and station: mode, rate and target; only with a proxy."""
        return self._table("decisions")

    @property
    def frames(self) -> Table:
        """A row per frame on the air; only with `record__frames=True`."""
        return self._table("frames")

    @property
    def packets(self) -> Table:
        """A row per packet that arrived; only with `record__packets=True`."""
        return self._table("packets")

    def _table(self, name: str) -> Table:
        native = self._run.table(name)
        if native is None:
            remedy = "the scenario has no proxy" if name == "decisions" else f"pass record__{name}=True"
            raise ValueError(f"the run has no table `{name}`: {remedy}")
        return Table(native)

    def plot(self) -> Figure:
        """Draws goodput and delay of each station, and the slots' levels if they were recorded."""
        from airpace import plot

        return plot.run(self)

    def __repr__(self) -> str:
        return self._run.text()

    def _repr_html_(self) -> str:
        from airpace import plot

        title = html.escape(self.summary["scenario"]["title"])
        flows = self.flows
        own = any(not _is_empty(flows[name]) for name in ("rtt_mean_ms", "mos", "pages"))
        parts = [f"<h4>{title}</h4>" if title else "", self.stations._repr_html_()]
        parts += [flows._repr_html_() if own else "", plot.as_svg(plot.run(self))]
        return "".join(parts)


def load(scenario: Mapping[str, Any] | str | os.PathLike[str], overrides: Mapping[str, Any]) -> _native.Scenario:
    """Reads a scenario: a file's path, or a dictionary with the keys of such a file."""
    settings = [(key, _native.setting(key, value)) for key, value in dotted(overrides).items()]
    if isinstance(scenario, Mapping):
        text, name, folder = _native.to_toml(dict(scenario)), "scenario", Path()
    else:
        path = Path(scenario)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise _native.ScenarioError(f"cannot read {path}: {reason}") from error
        name, folder = str(path), path.parent
    return _native.Scenario(text, name, folder.absolute(), settings)


def dotted(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with dots, which Python's names of arguments cannot have, in place of double underscores."""
    return {key.replace("__", "."): value for key, value in overrides.items()}


def simulate(
    scenario: Mapping[str, Any] | str | os.PathLike[str],
    *,
    law: Callable[[], Any] | None = None,
    queue: Callable[[_native.QueueSite], Any] | None = None,
    progress: bool | Callable[[float, float], object] = False,
    out: str | os.PathLike[str] | None = None,
    **overrides: Any,
) -> Result:
    """Runs a scenario in virtual time. The interpreter's lock is released meanwhile, and Ctrl-C ends the run.

    Parameters
    ----------
    scenario
        The path of a scenario file, or a dictionary with the keys of such a file (`airpace sim schema` prints them).
        Paths in a dictionary are relative to the working directory.
    law
        Builds a rate law, which decides in place of that of every proxy: called without arguments once per proxy that
        begins. A law has a method `on_slot(now, reports)` that takes the simulated time in seconds and a list of
        `SlotReport` and returns an `Allocation` for each known station. Optional: `remove(station)`,
        `on_backlog(now, changes)` with pairs of station and whether packets wait, and the truth value `takes_news`.
    queue
        Builds a queue of the access points: called with a `QueueSite` for each receiver and access category. A queue has
        the methods `enqueue(now, packet, store)` and `dequeue(now, store)`, which returns a packet or `None`.
    progress
        Shows a bar (needs tqdm), or a function of the simulated seconds that are done and in all.
    out
        A folder for the files that `airpace sim run --out` writes.
    overrides
        Settings in place of the scenario's: `seed=3`, `duration="5 s"`. Two underscores stand for a dot:
        `node__station__count=20`, `record__frames=True`; any dotted key can be given as `**{"flow.0.rate": rate}`.

    Raises
    ------
    ScenarioError
        The scenario or a setting is refused. The text says where, why, and what to do, as that of the program does.

    Warns
    -----
    UserWarning
        A setting made figures meaningless; `Result.warnings` has the reasons.
    """
    loaded = load(scenario, overrides)
    for name, factory in (("law", law), ("queue", queue)):
        if factory is not None and not callable(factory):
            raise TypeError(f"{name} is {factory!r}: give a class or a function that builds one")
    with _shown(progress) as observer:
        run = _native.simulate(loaded, law, queue, observer, None if out is None else Path(out))
    result = Result(run)
    for warning in result.warnings:
        warnings.warn(f"{warning['name']}: `{warning['who']}` {warning['text']}", UserWarning, stacklevel=2)
    return result


class _shown:  # noqa: N801
    """The observer of a run: a function, a bar, or nothing."""

    def __init__(self, progress: bool | Callable[[float, float], object]) -> None:
        self._progress = progress
        self._bar: Any = None

    def __enter__(self) -> Callable[[float, float], object] | None:
        if callable(self._progress):
            return self._progress
        if not self._progress:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError("progress=True draws its bar with tqdm: install it with `pip install tqdm`") from error
        self._bar = tqdm(unit="s", unit_scale=True, desc="simulated")
        return self._update

    def _update(self, done: float, total: float) -> None:
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
