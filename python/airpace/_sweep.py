"""Sweeps over settings and seeds, on this machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airpace import _native
from airpace._dispatch import carried_out, local_cluster
from airpace._run import Table, dotted, load

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.figure import Figure

SEEDS_MOST = 10_000
"""Most repetitions of a point, as for `airpace sim sweep`."""


class Sweep:
    """The data set of a sweep: tables joined by their column `run`.

    `runs` has a row per run, with a column for each setting that the sweep varies; a run without figures says in the
    columns `status` and `error` why. `stations` and `flows` have a row per station and flow of the finished runs.
    """

    __slots__ = ("flows", "folder", "runs", "stations")

    def __init__(self, folder: Path, tables: Sequence[_native.Table]) -> None:
        self.folder = folder
        self.runs, self.stations, self.flows = (Table(table) for table in tables)

    def plot(self, over: str, figure: str = "goodput_mbps") -> Figure:
        """Draws the column `figure` of the runs over the setting `over`: each run, and the mean of each point."""
        from airpace import plot

        return plot.sweep(self, over, figure)

    def __repr__(self) -> str:
        failed = sum(status != "finished" for status in self.runs["status"])
        return f"<sweep of {len(self.runs)} runs, {failed} without figures, in {self.folder}>"

    def _repr_html_(self) -> str:
        return self.runs._repr_html_()


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The data set that a sweep, of this package or of `airpace sim sweep`, has left in `folder`."""
    if not (Path(folder) / "runs.parquet").is_file():
        raise FileNotFoundError(f"{folder} has no runs.parquet: give the folder of a sweep")
    return Sweep(Path(folder), _native.read_dataset(Path(folder)))


def sweep(
    scenario: Mapping[str, Any] | str | os.PathLike[str],
    over: Mapping[str, Iterable[Any]],
    *,
    repeats: int = 1,
    out: str | os.PathLike[str],
    client: Client | None = None,
    workers: int | None = None,
    progress: bool = False,
    **overrides: Any,
) -> Sweep:
    """Runs a scenario over a grid of settings with several seeds each, and leaves a data set of Parquet files in `out`.

    What a worker has finished is on disk at once. A sweep that was stopped goes on from there when it is called again, a worker
    that dies loses nothing, and the rows are the same whatever the number of workers.

    Parameters
    ----------
    scenario, overrides
        As for `simulate`.
    over
        The values of each setting: `{"node.station.count": [1, 2, 5], "proxy.0.law": ["linear", "waterfill"]}`.
    repeats
        Runs of each point, with seeds that count up from the scenario's.
    out
        The folder of the data set. Runs that are there, also from `airpace sim sweep`, are not repeated.
    client
        The Dask cluster to run on. Its workers need the same version of airpace, and traces of the scenario at the same
        paths. By default `workers` processes of this machine, one per core.
    progress
        Shows a bar (needs tqdm).

    Raises
    ------
    ScenarioError
        A scenario of the grid is refused, so that nothing is run.
    """
    if not 1 <= repeats <= SEEDS_MOST:
        raise ValueError(f"repeats is {repeats}: it must be from 1 to {SEEDS_MOST}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}: it must be at least 1")
    if client is not None and (not hasattr(client, "submit") or client.asynchronous):
        raise TypeError(f"client is {client!r}: give a distributed.Client that is not asynchronous")
    jobs = load(scenario, overrides).jobs(_axes(over), repeats)
    folder = Path(out)
    journal = _native.Journal(folder)
    try:
        left = list({job.key: job.json() for job in jobs if not journal.has(job.key)}.values())
        try:
            # Closing ends the workers before the tables are written, also when a batch cannot be kept.
            with (
                _bar(progress, len(jobs), len(left)) as update,
                closing(_carried_out(left, client, workers)) as batches,
            ):
                for records in batches:
                    journal.add(records)
                    update(len(records))
        finally:
            journal.fold(jobs)
    finally:
        journal.close()
    return read_sweep(folder)


def _axes(over: Mapping[str, Iterable[Any]]) -> list[tuple[str, list[str]]]:
    """The settings that are varied, and the texts of their values."""
    if not isinstance(over, Mapping):
        raise TypeError(f"over is {over!r}: give a dictionary of settings and lists of their values")
    axes = []
    for key, values in dotted(over).items():
        # The letters of a text and the keys of a table are not meant.
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise TypeError(f"`{key}` is {values!r}: give a list of its values")
        axes.append((key, [_native.setting(key, value) for value in values]))
    return axes


def _carried_out(jobs: list[str], client: Client | None, workers: int | None) -> Generator[list[str], None, None]:
    """The rows of each run, a batch at a time, from the client that was given or from processes of this machine."""
    if not jobs:
        return
    if client is not None:
        yield from carried_out(jobs, client)
        return
    with local_cluster(workers, len(jobs)) as local:
        yield from carried_out(jobs, local)


@contextmanager
def _bar(is_wanted: bool, total: int, left: int) -> Iterator[Any]:
    if not is_wanted:
        yield lambda _: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=total - left, unit="run") as bar:
        yield bar.update
