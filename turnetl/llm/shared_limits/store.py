"""The port to where the state of shared limits is, and the state of one process."""

from collections.abc import Callable
from typing import Protocol

Change = Callable[[bytes | None, float], bytes]
"""Called with the present state, None if there is none, and the seconds of the store's clock since
the epoch; returns the new state. It may raise."""


class LimitsStore(Protocol):
    """Keeps a state by name, for all processes that share it."""

    @property
    def place(self) -> str:
        """Where the states are, for messages."""

    async def update(self, name: str, change: Change) -> None:
        """Replace the state of a name. No other process reads or writes it meanwhile.

        If the change raises, the state stays as it is. Opens the store at its first use.

        Raises:
            ModelBusy: the store did not respond. The change may have been made.
            ModelUnusable: the store cannot be used until the user acts. Nothing was changed.
        """

    async def close(self) -> None:
        """Close connections and files. Idempotent; the next update opens them again."""


class MemoryLimits:
    """States in the memory of one process."""

    place = "memory"

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start without states.

        Args:
            clock: seconds since the epoch.
        """
        self._clock = clock
        self._states: dict[str, bytes] = {}

    async def update(self, name: str, change: Change) -> None:
        self._states[name] = change(self._states.get(name), self._clock())

    async def close(self) -> None:
        """Keep the states: there is nothing to close."""
