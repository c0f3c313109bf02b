"""Signals that stop the process raise KeyboardInterrupt, but never inside polars."""

import signal
from types import FrameType

_DELAY = 0.02
"""Seconds."""


def install() -> None:
    """Raise KeyboardInterrupt for SIGINT and SIGTERM.

    With Python's own handler for SIGINT, asyncio would first wait for the running tasks.
    """
    for name in ("SIGINT", "SIGTERM", "SIGALRM"):
        if hasattr(signal, name):  # Windows has no alarm
            signal.signal(getattr(signal, name), _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Interrupt here, or a moment later if polars is at work.

    Polars treats an interrupt as an error of its own and prints a long report.
    """
    if _is_in_polars(frame) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _DELAY)
        return
    raise KeyboardInterrupt


def _is_in_polars(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False
