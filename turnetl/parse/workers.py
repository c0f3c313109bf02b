"""Archives read side by side by processes, largest first.

The processes are started anew (`spawn`): polars and pyarrow have threads of their own, which do not
outlive a fork. They are our own and not a pool's: of a pool one cannot learn which archive killed a
process, it gives up all others with it, and it cannot be stopped at once.
"""

import gc
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import NoReturn

from turnetl.errors import Fatal
from turnetl.parse import problems
from turnetl.parse.archive_job import ParseOptions, Work
from turnetl.parse.batches import Placed, batches, read
from turnetl.parse.report import ArchiveReport

_PATIENCE = 2.0
"""Seconds for a process to take its unfinished file away when it is stopped."""

Batches = deque[tuple[Placed, ...]]


def side_by_side(
    works: Sequence[Placed], run: ParseOptions, jobs: int
) -> Iterator[tuple[int, ArchiveReport]]:
    """Yield what became of each archive, in the order in which they are done.

    Raises:
        Stop: the lake cannot be written, or no process can be started.
    """
    largest_first = sorted(works, key=lambda placed: (-placed[1].seen.size, placed[0]))
    left = deque(batches(largest_first))
    with _workers(run, min(jobs, len(left))) as workers:
        while workers:
            ready = wait([worker.pipe for worker in workers])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                yield from worker.heard(left)
                if worker.is_done:
                    workers.remove(worker)
                    worker.leave()
                    if worker.died and left:
                        workers.append(_Worker(run))


class _Worker:
    """A process that reads what it is handed."""

    def __init__(self, run: ParseOptions) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, run), daemon=True)
        with _deaf():
            self.process.start()
        # Ours must be the only other end: then the pipe ends when the process does.
        theirs.close()
        self.is_done = False
        self.died = False
        self._started = False
        self._batch: tuple[Placed, ...] = ()

    def heard(self, left: Batches) -> Iterator[tuple[int, ArchiveReport]]:
        """Take one message; hand over more of what is left if nothing is in hand.

        Raises:
            Stop: the process says so, or it never came to work.
        """
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            yield from self._death(left)
            return
        if isinstance(said, Fatal):
            raise said
        self._started = True
        yield from zip((at for at, _ in self._batch), said, strict=True)
        self._hand_over(left)

    def leave(self) -> None:
        """Let the process end by itself: it has nothing to do."""
        self.pipe.close()
        self.process.join(_PATIENCE)

    def stop(self) -> None:
        """End the process at once; an unfinished file is taken away."""
        self.process.terminate()
        self.process.join(_PATIENCE)
        self.process.kill()
        self.pipe.close()

    def _hand_over(self, left: Batches) -> None:
        self._batch = left.popleft() if left else ()
        self.is_done = not self._batch
        if self._batch:
            # A process that is gone by now is heard of when its pipe ends.
            with suppress(OSError):
                self.pipe.send([work for _, work in self._batch])

    def _death(self, left: Batches) -> Iterator[tuple[int, ArchiveReport]]:
        """Give the archives back one by one, if the process had several in hand; else give it up.

        Which of several it died of cannot be known before it happens again.
        """
        if not self._started:
            raise Fatal(
                "no process could be started to read archives side by side; run with --jobs 1"
            )
        self.is_done = self.died = True
        if len(self._batch) > 1:
            left.extendleft((placed,) for placed in reversed(self._batch))
            return
        for at, work in self._batch:
            yield at, problems.refused(work.seen.path, problems.killed(work.seen.path))


@contextmanager
def _workers(run: ParseOptions, number: int) -> Iterator[list[_Worker]]:
    """Start processes; whatever happens, none of them is left."""
    workers: list[_Worker] = []
    try:
        for _ in range(number):
            # One by one: of a list that is never finished none could be stopped.
            workers.append(_Worker(run))  # noqa: PERF401
        yield workers
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.stop()


@contextmanager
def _deaf() -> Iterator[None]:
    """Start a process that does not hear Ctrl-C: it is for us to stop it, quietly."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, run: ParseOptions) -> None:
    """Read what comes, until nothing can come any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    # What is there by now stays: the collector need not look through it again and again.
    gc.freeze()
    with suppress(EOFError, OSError):
        pipe.send(())
        while True:
            pipe.send(_said(pipe.recv(), run))


def _said(works: Sequence[Work], run: ParseOptions) -> Sequence[ArchiveReport] | Fatal:
    try:
        return read(works, run)
    except Fatal as error:
        return error


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    # Told twice, by whoever stops all of us and by the run: the second shall not end the ending.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(1)
