"""One connection to a Ladybug file, and the one thread that uses it.

The database is not asynchronous: every operation runs completely in the client's own thread, so a
cancelled caller cannot leave a transaction half done for the next one.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from turnetl.base.errors import GraphUnusable

T = TypeVar("T")
P = ParamSpec("P")

_POOL_FULL = "buffer pool is full"
_PARAMETER = re.compile(r"\$(\w+)")
_NOT_WRITTEN = "Cannot write to file"


class OpenFile(Protocol):
    """The part of a `LadybugFile` that the client uses."""

    @property
    def connection(self) -> Any: ...

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Release the file after a write that failed."""


Reopen = Callable[[bool], OpenFile]
"""Opens the file again; True: in low memory, where a statement may not fit into the buffer pool."""


class BufferPoolFull(GraphUnusable):
    """A statement needs more memory than the buffer pool may take."""


class WriteFailed(GraphUnusable):
    """The log ends in a part of a record: nothing may be written after it."""


class LadybugClient:
    """Runs operations in its thread; `query`, `table` and `transaction` are called only there."""

    def __init__(self, file: OpenFile, reopen: Reopen | None = None) -> None:
        """Use an open file; a reader opens it again after a pause, in the client's thread."""
        self._file = file
        self._reopen = reopen
        self._failed: WriteFailed | None = None
        self._is_paused = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ladybug")
        self._is_open = True

    @property
    def _is_writer(self) -> bool:
        """A writer keeps the file: another one could change what this one knows of its groups."""
        return self._reopen is None

    async def run(self, operation: Callable[["LadybugClient"], T]) -> T:
        """Run the operation in the thread; raises as `reopen`, after a pause."""
        return await self._in_thread(lambda: self._run(operation))

    async def run_in_low_memory(self, operation: Callable[["LadybugClient"], T]) -> T:
        """Run an operation that only reads in a small buffer pool, if the file can be reopened.

        If the pool is too small, the operation starts again in one without a limit.
        """
        return await self._in_thread(lambda: self._run_in_low_memory(operation))

    async def pause(self) -> None:
        """Close the file until the next operation, if it can be opened again."""
        if self._is_open and self._reopen is not None:
            await self._in_thread(self._pause)

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await self._in_thread(self._pause)
            self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _run(self, operation: Callable[["LadybugClient"], T]) -> T:
        self._resume(low_memory=False)
        with _damage_translated():
            return operation(self)

    def _run_in_low_memory(self, operation: Callable[["LadybugClient"], T]) -> T:
        if self._is_writer:
            return operation(self)
        self._pause()
        self._resume(low_memory=True)
        try:
            with _damage_translated():
                return operation(self)
        except BufferPoolFull:
            self._pause()
            return self._run(operation)
        finally:
            self._pause()

    def _resume(self, *, low_memory: bool) -> None:
        if self._is_paused and self._reopen is not None:
            self._file = self._reopen(low_memory)
            self._is_paused = False

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            if self._failed is not None and self._is_writer:
                self._file.abandon()
            else:
                self._file.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit the transaction at the end of the block; roll it back on any exception."""
        self.query("BEGIN TRANSACTION")
        try:
            yield
            self.query("COMMIT")
        except BaseException:
            # A statement that fails ends the transaction; there is then nothing to roll back.
            with suppress(RuntimeError, GraphUnusable):
                self.query("ROLLBACK")
            raise

    def query(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one statement and return its rows as lists."""
        if self._failed is not None:
            raise self._failed
        try:
            with self._result(*_without_nulls(query, parameters or {})) as result:
                rows: list[Any] = result.get_all()
                return rows
        except WriteFailed as error:
            self._failed = error
            raise

    def rows(self, query: str, parameters: Mapping[str, Any]) -> Iterator[list[Any]]:
        """Run one query and yield its rows: one at a time is a Python object."""
        with self._result(query, parameters) as result:
            while result.has_next():
                yield result.get_next()

    def table(self, query: str, parameters: Mapping[str, Any]) -> Any:
        """Run one query and return its rows as an Arrow table: vectors never become objects."""
        with self._result(query, parameters) as result:
            return result.get_as_arrow(-1)

    @contextmanager
    def _result(self, query: str, parameters: Mapping[str, Any]) -> Generator[Any]:
        try:
            result = self._file.connection.execute(query, dict(parameters))
            yield result
            result.close()
        except RuntimeError as error:
            raise _translated(error) from error


def in_thread(
    operation: Callable[Concatenate[LadybugClient, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return a method that runs the operation in the thread of its object's client."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        client: LadybugClient = self._client
        return await client.run(lambda client: operation(client, *args, **kwargs))

    return method


def _without_nulls(query: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Write parameters that are null into the query: with one, Ladybug plans it every time."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if len(given) < len(parameters):
        query = _PARAMETER.sub(lambda name: name[0] if name[1] in given else "NULL", query)
    return query, given


@contextmanager
def _damage_translated() -> Generator[None]:
    """Translate what reading values raises that nobody wrote."""
    try:
        yield
    except DAMAGE as error:
        raise GraphUnusable(
            f"the embedded graph is damaged: a value of it cannot be decoded "
            f"({type(error).__name__}); run `turnetl verify`, which says what is to be done"
        ) from error


def _translated(error: RuntimeError) -> GraphUnusable:
    cause = error_reason(error)
    if _NOT_WRITTEN in cause:
        return WriteFailed(
            f"the embedded graph cannot be written: {cause}; free some disk space, then "
            "repeat the command: committed turns stay, and it continues after them"
        )
    error_class = BufferPoolFull if _POOL_FULL in cause else GraphUnusable
    return error_class(
        f"the embedded graph rejected a statement: {cause}; check that the disk is not full "
        "and that the file is writable"
    )


DAMAGE = (UnicodeError, msgspec.DecodeError, MemoryError, OverflowError)
"""Errors of a file that holds a wrong length or wrong text: no statement causes them."""
_MAX_CHARS = 160


def error_reason(error: Exception) -> str:
    """Return the first line of an error, truncated: no text of a turn gets into a message."""
    return (str(error).splitlines() or [""])[0][:_MAX_CHARS]
