"""Connections that crash at the nth statement: by an error, or by killing the process."""

import os
import signal
from collections.abc import Callable
from typing import Any, Self


class Crash(Exception):
    """Raised by a test's connection."""


class Countdown:
    """Calls a function at the nth statement; does nothing before and after."""

    def __init__(self, statement: int, action: Callable[[], None]) -> None:
        self._remaining = statement
        self._action = action

    def tick(self) -> None:
        self._remaining -= 1
        if self._remaining == 0:
            self._action()


def fail() -> None:
    raise Crash


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    """Stop this process until it gets SIGCONT, as Ctrl-Z does."""
    os.kill(os.getpid(), signal.SIGSTOP)


class CrashingConnection:
    """A Ladybug connection that crashes before its nth statement."""

    def __init__(self, connection: Any, countdown: Countdown) -> None:
        self._connection = connection
        self._countdown = countdown

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        if not query.startswith("ROLLBACK"):
            self._countdown.tick()
        return self._connection.execute(query, parameters)

    def close(self) -> None:
        self._connection.close()


class CrashingDriver:
    """A Neo4j driver, session or transaction that crashes before its nth statement or commit."""

    def __init__(self, inner: Any, countdown: Countdown) -> None:
        self._inner = inner
        self._countdown = countdown

    def session(self, **options: Any) -> "CrashingDriver":
        return CrashingDriver(self._inner.session(**options), self._countdown)

    async def begin_transaction(self, **options: Any) -> "CrashingDriver":
        return CrashingDriver(await self._inner.begin_transaction(**options), self._countdown)

    async def run(self, *arguments: Any, **parameters: Any) -> Any:
        self._countdown.tick()
        return await self._inner.run(*arguments, **parameters)

    async def commit(self) -> None:
        self._countdown.tick()
        await self._inner.commit()

    async def close(self) -> None:
        await self._inner.close()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)
