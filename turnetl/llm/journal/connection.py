"""The file of a journal in one process: opened at its first use, and given up after a failure."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from turnetl.base.errors import JournalUnusable
from turnetl.llm.journal import errors
from turnetl.llm.journal.file import JournalFile


class JournalConnection:
    """The file, and the failure after which no request is sent."""

    def __init__(self, path: Path, wait: float) -> None:
        """Open no file.

        Args:
            path: of the file.
            wait: seconds to wait for other processes.
        """
        self._path = path
        self._wait = wait
        self._opening = threading.Lock()
        self._failure: JournalUnusable | None = None
        self.file: JournalFile | None = None
        """None before the first use."""
        self.is_writable = False
        """Whether the file was found to be writable."""

    def open(self) -> JournalFile:
        """Return the file; the first call opens it.

        Raises:
            JournalUnusable: it cannot be opened, now or earlier.
        """
        with self._opening:
            if self.file is None:
                self.raise_failure()
                with self.recorded(), self.translated():
                    self.file = JournalFile.open(self._path, self._wait)
            return self.file

    def check_writable(self) -> None:
        """Check once that the file can be written.

        Raises:
            JournalUnusable: it cannot.
        """
        if not self.is_writable:
            self.raise_failure()
            with self.recorded(), self.translated():
                self.open().check_writable()
            self.is_writable = True

    def close(self) -> None:
        """Close the file, if it is open."""
        if self.file is not None:
            self.file.close()
            self.file = None

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Remember a failure: no request is sent after it."""
        try:
            yield
        except JournalUnusable as error:
            self._failure = error
            raise

    def raise_failure(self) -> None:
        """Raise an earlier failure again: each new try could wait a long time for a lock."""
        if self._failure is not None:
            raise self._failure

    def translated(self) -> AbstractContextManager[None]:
        """Translate SQLite's exceptions into JournalUnusable."""
        return errors.translated(self._path, self._wait)
