"""Accounts: what the requests of one piece of work have used, of all that share a budget.

The account of a request is that of its context: tasks inherit it from the code that starts them. So
a request that Graphiti sends counts for its turn, though Graphiti knows of neither.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from turnetl.llm.cost_bounds import Amount

T = TypeVar("T")
Approve = Callable[[Amount], None]
"""Called with the expected cost before each request. Raises `RunStopped` if it must not be sent."""


class Account:
    """The requests of one piece of work."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve
        self.place = 0
        """Place in the queue for the limits of a provider; requests with a lower one go first."""
        self.spent = Amount()
        """All that was paid for so far: also responses that were invalid, and those to requests
        that ran ahead and that no turn needed."""
        self.in_flight = Amount()
        """Expected cost of the requests in flight."""
        self.required = Amount()
        """What had to be left of a budget at the start, so that every request so far fitted."""

    @contextmanager
    def request(self, expected: Amount) -> Iterator[None]:
        """Count a request as in flight, unless `approve` raises."""
        self._approve(expected)
        self.in_flight += expected
        try:
            yield
        finally:
            self.in_flight -= expected

    def charge(self, used: Amount, reserved: Amount) -> None:
        """Count a response: what it used, and what a budget reserves for one if little is left."""
        self.required = self.required.at_least(self.spent + reserved)
        self.spent += used


_current: ContextVar[Account | None] = ContextVar("account", default=None)


def current_account() -> Account:
    """Return the account of this context; a new one if there is none."""
    return _current.get() or Account(lambda _: None)


def charged_to(account: Account) -> AbstractContextManager[None]:
    """Charge the requests of this context, and of tasks started in it, to an account."""
    return set_in_context(_current, account)


@contextmanager
def set_in_context(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set the variable for this context and for tasks started in it."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
