"""The queue of requests that wait to be sent: whose turn comes first is sent first."""

import asyncio
from types import TracebackType
from typing import NamedTuple, Self

from turnetl.llm.accounts import Account, current_account


class _Waiting(NamedTuple):
    account: Account
    admitted: "asyncio.Future[None]"


class RequestQueue:
    """A lock that goes to the request with the lowest place; among equal ones to the first.

    The place is that of the account of the request, read when the lock is free: a turn moves up
    while its requests wait.
    """

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._is_held = False

    async def __aenter__(self) -> Self:
        if not self._is_held:
            self._is_held = True
            return self
        waiting = _Waiting(current_account(), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if not waiting.admitted.cancelled():  # It was admitted at the same moment.
                self._release()
            raise
        finally:
            self._waiting = [other for other in self._waiting if other is not waiting]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    def _release(self) -> None:
        # A cancelled request is still in the list until its task runs.
        waiting = [one for one in self._waiting if not one.admitted.done()]
        self._is_held = bool(waiting)
        if waiting:
            min(waiting, key=lambda one: one.account.place).admitted.set_result(None)
