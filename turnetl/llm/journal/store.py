"""The journal: answers by the digest of what was asked, in one SQLite file in the lake."""

import asyncio
import logging
import math
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from turnetl.errors import BadUsage, JournalRefused
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.journal import errors, stats
from turnetl.llm.journal.file import JournalFile
from turnetl.llm.journal.rows import JournalRow, to_response, to_row
from turnetl.llm.journal.stats import JournalStats, PruneResult

log = logging.getLogger(__name__)

_USES = 10_000
"""Uses that are counted in memory."""

T = TypeVar("T")


class Journal:
    """Answers that were paid for. One for the whole process; several processes may have one.

    Nothing is touched before the first answer is looked for. An answer that cannot be written is
    held, and no call is begun after that: `check` says why. `close` tries once more.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], datetime],
        wait: float = 60.0,
        room: int = 32 << 20,
    ) -> None:
        """Name the journal.

        Args:
            path: of the file; its folder is made too.
            clock: says when an answer is kept.
            wait: seconds to wait for other processes.
            room: bytes that must be free on its disk before a call is made.
        """
        self.path = path
        self.answered = 0
        """Answers that it gave so far, in this process."""
        self._clock = clock
        self._wait = wait
        self._room = room
        self._file: JournalFile | None = None
        self._opening = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._proved = False
        self._trouble: JournalRefused | None = None
        self._held: dict[str, JournalRow] = {}
        self._unreadable: set[str] = set()
        self._uses: Counter[str] = Counter()

    def find(self, key: str) -> ChatResponse | None:
        """Return the answer with its first cost; None if it is not there or cannot be read.

        Raises:
            JournalRefused: the file cannot be read.
        """
        with self._told():
            return self._find(key, patiently=True)

    def use(self, key: str) -> None:
        """Count that an answer stood in for a call."""
        self.answered += 1
        self._uses[key] += 1
        if len(self._uses) >= _USES:
            self._thread.submit(self._count_uses)

    def keep(self, key: str, request: ChatRequest, model_name: str, answer: ChatResponse) -> None:
        """Write the answer, whole or not at all. One that is there already stays.

        Raises:
            JournalRefused: it cannot be written.
        """
        self._write(to_row(key, request, model_name, answer, self._clock()))

    async def found(self, key: str) -> ChatResponse | None:
        """Do as `find`, without keeping others from their work."""
        if self._file is None:
            await self._apart(self._opened)
        try:
            return self._find(key, patiently=False)
        except errors.FAILURES as error:
            # Whoever has it locked may take long: that is waited for elsewhere. What else is
            # wrong will be wrong again, and is told then.
            log.debug("journal not read at once", exc_info=error)
        return await self._apart(self._find_at_last, key)

    async def kept(
        self, key: str, request: ChatRequest, model_name: str, answer: ChatResponse
    ) -> None:
        """Do as `keep`, without keeping others from their work; hold what cannot be written."""
        row = to_row(key, request, model_name, answer, self._clock())
        # It is written even if whoever waits is cancelled: it is paid for.
        await asyncio.shield(self._apart(self._write_or_hold, row))

    async def check(self) -> None:
        """See that an answer could be kept, before it is paid for.

        Raises:
            JournalRefused: it could not.
        """
        self._go_on()
        if not self._proved:
            await self._apart(self._prove)
        if (left := _free(self.path.parent)) < self._room:
            raise errors.disk_full(self.path, left)

    def distrust(self, key: str, prompt: str) -> None:
        """Take an answer that was found for none: the next one for this key replaces it."""
        log.warning(errors.unreadable_row(self.path, prompt))
        self._unreadable.add(key)

    def stats(self) -> JournalStats:
        """Say what it holds. Does not make a file.

        Raises:
            JournalRefused: it cannot be read.
        """
        if not self.path.exists():
            return JournalStats(self.path)
        with self._told():
            return stats.stats(self._opened().writing, self.path)

    def prune(
        self,
        *,
        older_than: datetime | None = None,
        model: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> PruneResult:
        """Take answers out and give their room back to the disk.

        Args:
            older_than: those kept before.
            model: those of this model, with or without its provider; with `older_than`, both hold.
            everything: all of them.
            dry_run: only say which.

        Raises:
            BadUsage: nothing says which.
            JournalRefused: it cannot be read or written.
        """
        if older_than is None and model is None and not everything:
            raise BadUsage("say which answers to prune: by age, by model, or all")
        if not self.path.exists():
            return PruneResult(self.path, 0, 0, 0, dry_run)
        chosen = stats.PruneSelection(older_than, model)
        with self._told():
            return stats.prune(self._opened().writing, self.path, chosen, dry_run=dry_run)

    def close(self) -> None:
        """Write what is held, if that is possible now, and let go of the file. Safe to repeat."""
        self._thread.shutdown()
        if self._file is not None:
            self._file.hurry()
        if self._held:
            self._write_held()
        if self._file is not None:
            self._count_uses()
            self._file.close()
            self._file = None

    def _opened(self) -> JournalFile:
        with self._opening:
            if self._file is None:
                self._go_on()
                with self._troubling(), self._told():
                    self._file = JournalFile.open(self.path, self._wait)
            return self._file

    def _prove(self) -> None:
        if not self._proved:
            self._go_on()
            with self._troubling(), self._told():
                self._opened().prove()
            self._proved = True

    @contextmanager
    def _troubling(self) -> Iterator[None]:
        """Remember a failure: nothing is asked after it."""
        try:
            yield
        except JournalRefused as error:
            self._trouble = error
            raise

    def _go_on(self) -> None:
        """Raise what was wrong before: each try may wait long for whoever has it locked."""
        if self._trouble is not None:
            raise self._trouble

    def _find_at_last(self, key: str) -> ChatResponse | None:
        self._go_on()
        with self._troubling():
            return self.find(key)

    def _find(self, key: str, *, patiently: bool) -> ChatResponse | None:
        if key in self._held:
            return self._held[key].complete
        read = self._opened().find(key, patiently=patiently)
        if read is None or key in self._unreadable:
            return None
        if (answer := to_response(key, read)) is None:
            self.distrust(key, str(read[2]))
            return None
        return answer

    def _count_uses(self) -> None:
        uses, self._uses = self._uses, Counter()
        try:
            if uses:
                self._opened().count(uses)
        except (JournalRefused, *errors.FAILURES) as error:
            log.info("uses of the journal not counted", exc_info=error)

    def _write(self, row: JournalRow) -> None:
        with self._told():
            self._opened().keep(row, replace=row.key in self._unreadable)
        self._unreadable.discard(row.key)

    def _write_or_hold(self, row: JournalRow) -> None:
        try:
            self._go_on()
            with self._troubling():
                self._write(row)
        except JournalRefused:
            self._held[row.key] = row

    def _write_held(self) -> None:
        """Try once more: there may be room now, or whoever had it locked is gone."""
        try:
            for key in tuple(self._held):
                self._write(self._held[key])
                del self._held[key]
        except JournalRefused as error:
            log.warning(errors.not_stored(len(self._held), error))

    def _apart(self, work: Callable[..., T], *given: Any) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    def _told(self) -> AbstractContextManager[None]:
        return errors.translated(self.path, self._wait)


def _free(folder: Path) -> float:
    """Return the bytes that are free on a folder's disk; without end if that is not known."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf
