"""The port to where the state of shared limits is, and the state of one process.

The clock of the state needs no machine's clock to be right. A process that takes part knows how
many seconds passed since its last exchange, and a time of the state never goes back. The clock of
the store counts only when a process joins.
"""

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

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


VERSION = 1
_BUCKET = 0.5
"""Seconds. Requests count from the end of their bucket on, at most this much too long."""


class Member(msgspec.Struct, array_like=True):
    """A process, as of its last exchange."""

    batch: int
    limits: tuple[int | None, int | None, int]
    """Requests per minute, tokens per minute, concurrency."""
    seen: float
    """Time of its last exchange."""
    slots: int
    """Requests that are or may be in flight."""
    slots_until: float
    """They have all ended then, even if the process does not report it."""
    requests: int
    tokens: int
    """Its block: granted, and not known to be used. It counts as used at `until`."""
    until: float
    wanted_slots: int
    unmet: int
    """Requests that it wanted beyond its block."""
    head_tokens: int
    """Tokens of its next request."""
    waiting_since: float
    """When it last got something, or began to want more."""


class LimitsState(msgspec.Struct):
    """Who takes part, and what was used in the last minute."""

    version: int = VERSION
    time: float = 0.0
    """Of the last exchange."""
    spaced: float = 0.0
    """When the next request would start if all were spaced evenly."""
    members: dict[str, Member] = {}
    usage: dict[int, tuple[int, int]] = {}
    """Requests and tokens by bucket."""


class UnknownState(ValueError):
    """The state was not written by this version of turnetl."""


_decoder = msgspec.json.Decoder(LimitsState)
_encoder = msgspec.json.Encoder()


def decode(content: bytes | None) -> LimitsState:
    """Return the state; an empty one if there is none.

    Raises:
        UnknownState: it is damaged, or of another version.
    """
    if content is None:
        return LimitsState()
    try:
        state = _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UnknownState("is damaged") from error
    if state.version != VERSION:
        raise UnknownState(f"has version {state.version}, and this turnetl has {VERSION}")
    return state


def encode(state: LimitsState) -> bytes:
    """Return the state as JSON."""
    return _encoder.encode(state)


def bucket(time: float) -> int:
    """Return the bucket in which a request that starts at that time is counted."""
    return math.ceil(time / _BUCKET)


def bucket_end(number: int) -> float:
    """Return the time from which the requests of a bucket are counted."""
    return number * _BUCKET
