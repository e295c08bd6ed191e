"""Runs of a sweep on a Dask cluster: handed out in batches, taken back as they are finished."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airpace import _native

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_S = 2.0
"""Time for which a worker is busy with what it is given at once, seconds: long beside the milliseconds that handing it
out costs, short beside what is repeated when a worker dies."""
BATCH_MOST = 256
"""Most runs of a batch."""
AHEAD = 2
"""Batches per thread that are handed out: one is carried out, and the next is there when it ends."""
COUNT_S = 5.0
"""Time after which the threads of a cluster, which may grow, are counted again, seconds."""

QUIET = {
    # The profile is for a dashboard, which our own cluster does not have; it costs a worker more than 1 % of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.client.scheduler-info-interval": "10s",
}
"""Settings of our own cluster. Its client, scheduler and nannies share the cores with its workers, so that whatever they do
at intervals is taken from the runs."""


def run_batch(jobs: Sequence[str], budget_s: float) -> tuple[list[str], float]:
    """Carries out runs on a worker until `budget_s` seconds have passed, at least one of them.

    Returns the rows of those that were carried out, which are the first of `jobs`, and the seconds that they took.
    """
    begun = time.perf_counter()
    records: list[str] = []
    for job in jobs:
        records.append(_native.run_job(job))
        if time.perf_counter() - begun >= budget_s:
            break
    return records, time.perf_counter() - begun


def carried_out(jobs: Sequence[str], client: Client) -> Iterator[list[str]]:
    """The rows of each run, a batch at a time in the order in which batches are finished.

    A run whose workers die again and again has a row without figures; the runs that were handed out together with it do
    not suffer.
    """
    from distributed import KilledWorker, as_completed

    handout = _Handout(jobs, client)
    done = as_completed(loop=client.loop)
    try:
        while True:
            for future in handout.submit():
                done.add(future)
            if not handout.batches:
                return
            future = next(done)
            batch = handout.batches.pop(future)
            try:
                records, took_s = future.result()
            except KilledWorker as death:
                if future is not handout.alone:
                    handout.suspects.extend(batch)
                    continue
                times = death.allowed_failures + 1
                died = f"the process that carried it out died, {times} times in a row: it may need more memory"
                records, took_s = [_native.failed_job(batch[0], died)], 0.0
            handout.take_back(batch[len(records) :])
            handout.learn(len(records), took_s)
            future.release()
            yield records
    finally:
        client.cancel(list(handout.batches))


class _Handout:
    """The runs that are left, and those that are handed out."""

    def __init__(self, jobs: Sequence[str], client: Client) -> None:
        self.batches: dict[Future[Any], list[str]] = {}
        """What was handed out and is not finished."""
        self.suspects: deque[str] = deque()
        """Runs of batches whose workers died again and again; each is carried out alone, when nothing else can die with it.
        Single runs are among them: a worker that dies takes with it what it was given next and results not yet fetched."""
        self.alone: Future[Any] | None = None
        """The suspect that is carried out: if its workers die, the run itself is the cause."""
        self._client = client
        self._left = deque(jobs)
        self._run_s: float | None = None
        self._threads = 1
        self._counted: float | None = None

    def submit(self) -> list[Future[Any]]:
        """Hands out as much as the cluster is to have."""
        futures = []
        wanted = AHEAD * self._count_threads()
        while self._left and len(self.batches) < wanted:
            batch = [self._left.popleft() for _ in range(self._size())]
            futures.append(self._submit(batch))
        if self.suspects and not self.batches:
            self.alone = self._submit([self.suspects.popleft()])
            futures.append(self.alone)
        return futures

    def take_back(self, jobs: Sequence[str]) -> None:
        """Runs that a worker did not come to."""
        self._left.extendleft(reversed(jobs))

    def learn(self, runs: int, took_s: float) -> None:
        """How long runs take; those that nobody could carry out say nothing."""
        if took_s == 0.0:
            return
        each_s = took_s / runs
        self._run_s = each_s if self._run_s is None else (self._run_s + each_s) / 2

    def _submit(self, batch: list[str]) -> Future[Any]:
        future = self._client.submit(run_batch, batch, BATCH_S, pure=False)
        self.batches[future] = batch
        return future

    def _size(self) -> int:
        """Runs of the next batch: fewer towards the end, so that the workers finish together."""
        share = len(self._left) // (2 * self._threads)
        # The first batches are single runs, because nobody knows how long one takes.
        size = 1 if self._run_s is None else int(BATCH_S / max(self._run_s, 1e-6))
        return max(1, min(size, share, BATCH_MOST))

    def _count_threads(self) -> int:
        now = time.monotonic()
        if self._counted is None or now - self._counted >= COUNT_S:
            self._counted = now
            self._threads = max(1, sum(self._client.nthreads().values()))
        return self._threads


@contextmanager
def local_cluster(workers: int | None, jobs: int) -> Iterator[Client]:
    """A client of `workers` processes of this machine with a thread each, by default one per core; of no more than `jobs`."""
    try:
        import dask
        from dask.system import CPU_COUNT
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("sweeps run on Dask: install it with `pip install 'airpace[sweep]'`") from error
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=min(jobs, workers or CPU_COUNT),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # A worker that ends while it reports to the scheduler logs an error; what became of runs is told by their rows.
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
