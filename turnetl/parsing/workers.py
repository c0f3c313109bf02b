"""Worker processes that parse archives in parallel, the largest first.

They are spawned: polars and pyarrow have threads that do not survive a fork. There is no process
pool, because it does not report which archive killed a process, abandons all other archives with
it, and cannot be stopped immediately.
"""

import copy
import gc
import logging
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from turnetl.base import stop_signals
from turnetl.base.errors import Fatal, Retryable
from turnetl.base.stop_signals import StopSignals
from turnetl.parsing import problems
from turnetl.parsing.jobs import NumberedJob, ParseOptions, batches
from turnetl.parsing.parse_report import ArchiveReport

log = logging.getLogger(__name__)

_STOP_TIMEOUT = 2.0
"""Seconds in which a process can end by itself, and delete its temporary file."""

_BatchQueue = deque[tuple[NumberedJob, ...]]


def parse_in_processes(
    jobs: Sequence[NumberedJob], options: ParseOptions, processes: int
) -> Iterator[tuple[int, ArchiveReport]]:
    """Yield the report on each archive with its position, in the order of completion."""
    queue = deque(batches(jobs))
    with _workers(options, min(processes, len(queue))) as workers:
        while workers:
            ready = wait([worker.pipe for worker in workers])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                yield from worker.receive(queue)
                if worker.is_done:
                    workers.remove(worker)
                    worker.close()
                    if worker.was_killed and queue:
                        _start_worker(workers, options)


class _Worker:
    """A process that parses the batches it receives."""

    def __init__(self, options: ParseOptions) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, child_pipe = context.Pipe()
        arguments = (child_pipe, options, _LOGGER.getEffectiveLevel())
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
        with _sigint_blocked():
            self.process.start()
        # The parent closes its copy, so that the pipe ends when the process does.
        child_pipe.close()
        self.is_done = False
        self.was_killed = False
        self._has_started = False
        self._batch: tuple[NumberedJob, ...] = ()

    def receive(self, queue: _BatchQueue) -> Iterator[tuple[int, ArchiveReport]]:
        try:
            message, records = self.pipe.recv()
        except (EOFError, OSError):
            yield from self._handle_death(queue)
            return
        for record in records:
            logging.getLogger(record.name).handle(record)
        if isinstance(message, Fatal | Retryable):
            raise message
        self._has_started = True
        yield from zip((position for position, _ in self._batch), message, strict=True)
        self._send_next(queue)

    def close(self) -> None:
        """Let the process end by itself: it has no batch."""
        self.pipe.close()
        self.process.join(_STOP_TIMEOUT)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(_STOP_TIMEOUT)
        self.process.kill()
        # Its locks end with it.
        self.process.join(_STOP_TIMEOUT)
        self.pipe.close()

    def _send_next(self, queue: _BatchQueue) -> None:
        self._batch = queue.popleft() if queue else ()
        self.is_done = not self._batch
        if self._batch:
            # If the process has died by now, the end of its pipe reports it.
            with suppress(OSError):
                self.pipe.send([job for _, job in self._batch])

    def _handle_death(self, queue: _BatchQueue) -> Iterator[tuple[int, ArchiveReport]]:
        """Return the archives of a batch to the queue one by one; report a batch of one archive.

        Which archive of a batch killed the process is only known when it happens again.
        """
        if not self._has_started:
            raise Fatal(
                "no worker process could be started to parse archives; set one job with `--jobs 1` "
                "or the setting `jobs`, or, in a script, start the run below "
                '`if __name__ == "__main__":`'
            )
        self.is_done = self.was_killed = True
        if len(self._batch) > 1:
            queue.extendleft((numbered,) for numbered in reversed(self._batch))
            return
        for position, job in self._batch:
            path = job.stat.path
            yield position, problems.skipped_report(path, problems.worker_killed(path))


@contextmanager
def _workers(options: ParseOptions, number: int) -> Iterator[list[_Worker]]:
    """Start processes, end all of them in any case, and remove the temporary files they left."""
    workers: list[_Worker] = []
    try:
        for _ in range(number):
            _start_worker(workers, options)
        yield workers
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.stop()
        # A process that was killed deleted nothing.
        if not options.dry_run:
            options.lake.remove_abandoned()


def _start_worker(workers: list[_Worker], options: ParseOptions) -> None:
    """Start a process, and interrupt afterwards: one with a part of its data prints a traceback."""
    with stop_signals.current().deferred():
        workers.append(_Worker(options))


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Start a process that ignores Ctrl-C: the parent stops it, without a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # The process in which Python tracks resources is started with the first worker, and that
    # unblocks SIGINT.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(pipe: Connection, options: ParseOptions, log_level: int) -> None:
    """Parse the batches that arrive until the parent closes the pipe or sends SIGTERM."""
    collected = CollectedLog(log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The parent does without the steps: it starts its processes before it could import them.
    from turnetl.parsing.batches import parse_batch  # noqa: PLC0415

    # A second signal, from the parent after one to the process group, must not interrupt the exit.
    signals = StopSignals(first_only=True)
    with suppress(EOFError, OSError, KeyboardInterrupt), signals.installed([signal.SIGTERM]):
        # Objects that exist by now stay: the garbage collector need not visit them again.
        gc.freeze()
        pipe.send(((), collected.take()))
        while True:
            jobs = pipe.recv()
            reports: Sequence[ArchiveReport] | Fatal | Retryable
            try:
                reports = parse_batch(jobs, options)
            except (Fatal, Retryable) as error:
                log.info("archives not parsed", exc_info=True)
                reports = error
            signals.check()
            pipe.send((reports, collected.take()))


_LOGGER = logging.getLogger("turnetl")
_FORMATTER = logging.Formatter()


class CollectedLog(logging.Handler):
    """Collects the records of a process, in a form that can be sent to its parent."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._records: list[logging.LogRecord] = []
        _LOGGER.setLevel(level)
        _LOGGER.addHandler(self)
        _LOGGER.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(_picklable(record))

    def take(self) -> list[logging.LogRecord]:
        records, self._records = self._records, []
        return records


def _picklable(record: logging.LogRecord) -> logging.LogRecord:
    """Return the record with its message and its traceback as texts."""
    sent = copy.copy(record)
    sent.msg, sent.args = record.getMessage(), None
    if record.exc_info:
        sent.exc_text = _FORMATTER.formatException(record.exc_info)
    sent.exc_info = None
    return sent
