"""SIGINT and SIGTERM stop a process, and none of them is lost.

Work on an event loop is cancelled by the loop: an exception could get into a library that does not
expect it. Blocking work is interrupted by KeyboardInterrupt, but never inside polars. Python
discards an exception in a finalizer or in the callback of a weak reference; it then comes again.
"""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_DELAY = 0.02
"""Seconds until a second attempt to interrupt."""
_HAS_TIMER = hasattr(signal, "setitimer")
"""Not on Windows: there, an interrupt that was discarded takes effect at the next `check`."""


class StopSignals:
    """The handler of the signals that stop a process."""

    def __init__(self, *, first_only: bool = False, max_deferral: float = 5.0) -> None:
        """Handle no signal yet.

        A deferred signal interrupts after `max_deferral` seconds in any case. `first_only` ignores
        further signals, which would interrupt the work of the first.
        """
        self._first_only = first_only
        self._max_deferral = max_deferral
        self._received = 0
        self._must_interrupt = False
        """Whether KeyboardInterrupt was not raised yet, or was discarded."""
        self._cancel: Callable[[], object] | None = None
        """Cancels work on an event loop; None: the work is blocking."""
        self._is_deferred = False

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        """Handle a signal: cancel or interrupt the work. A second signal always interrupts."""
        self._received += 1
        if self._received == 1 and self._cancel is not None:
            self._cancel()
        elif self._received == 1 and self._is_deferred:
            self._interrupt_soon(self._max_deferral)
        elif self._received == 1 or not self._first_only:
            self._interrupt(frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal arrived and the work is blocking."""
        if self._received and self._cancel is None:
            self._must_interrupt = False
            raise KeyboardInterrupt

    @contextmanager
    def cancelling(self) -> Iterator[Callable[[Callable[[], object]], None]]:
        """Cancel the work of the block at the first signal; the block passes the way to do that.

        KeyboardInterrupt is raised at the end of the block, also in place of an exception.
        """
        self._cancel = lambda: None
        try:
            yield self._cancel_by
        finally:
            self._cancel = None
            self.check()

    @contextmanager
    def blocking(self) -> Iterator[None]:
        """Interrupt the block, which blocks the event loop; also for an earlier signal."""
        cancel, self._cancel = self._cancel, None
        try:
            self.check()
            yield
            self.check()
        finally:
            self._cancel = cancel

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Interrupt after the block, which should be short, not within it."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
            self.check()

    @contextmanager
    def installed(self, numbers: Iterable[signal.Signals] = STOP_SIGNALS) -> Iterator[None]:
        """Handle these signals. Afterwards each of them ends the process immediately."""
        hook = sys.unraisablehook
        sys.unraisablehook = lambda error: self._discarded(error) or hook(error)
        if _HAS_TIMER:
            signal.signal(signal.SIGALRM, self._interrupt_again)
        for number in numbers:
            signal.signal(number, self)
        try:
            yield
        finally:
            for number in numbers:
                signal.signal(number, signal.SIG_DFL)
            if _HAS_TIMER:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_IGN)
            sys.unraisablehook = hook

    def _cancel_by(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        if self._received:
            cancel()

    def _interrupt(self, frame: FrameType | None) -> None:
        """Interrupt here, or a moment later if polars is at work: it would print a long report."""
        if _HAS_TIMER and _is_in_polars(frame):
            self._interrupt_soon()
            return
        self._must_interrupt = False
        raise KeyboardInterrupt

    def _interrupt_soon(self, seconds: float = _DELAY) -> None:
        self._must_interrupt = True
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _interrupt_again(self, _number: int, frame: FrameType | None) -> None:
        if self._must_interrupt:
            self._interrupt(frame)

    def _discarded(self, error: "sys.UnraisableHookArgs") -> bool:
        """Return whether Python discarded an interrupt; it then comes again."""
        if not issubclass(error.exc_type, KeyboardInterrupt):
            return False
        self._interrupt_soon()
        return True


def current() -> StopSignals:
    """Return the handler of this process, or one that receives nothing if there is none."""
    handler = signal.getsignal(signal.SIGINT)
    return handler if isinstance(handler, StopSignals) else StopSignals()


def _is_in_polars(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False
