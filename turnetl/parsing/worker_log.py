"""The log of a worker process: collected there, and logged by the parent with each batch."""

import copy
import logging
from collections.abc import Iterable

_LOGGER = logging.getLogger("turnetl")
_FORMATTER = logging.Formatter()


class CollectedLog(logging.Handler):
    """Collects the records of a process, in a form that can be sent to another one."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._records: list[logging.LogRecord] = []
        _LOGGER.setLevel(level)
        _LOGGER.addHandler(self)
        _LOGGER.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(_picklable(record))

    def take(self) -> list[logging.LogRecord]:
        """Return the records since the last call."""
        records, self._records = self._records, []
        return records


def level() -> int:
    """Return the level of the records that this process logs."""
    return _LOGGER.getEffectiveLevel()


def log_again(records: Iterable[logging.LogRecord]) -> None:
    """Log the records of another process in this one."""
    for record in records:
        logging.getLogger(record.name).handle(record)


def _picklable(record: logging.LogRecord) -> logging.LogRecord:
    """Return the record with its message and its traceback as texts."""
    sent = copy.copy(record)
    sent.msg, sent.args = record.getMessage(), None
    if record.exc_info:
        sent.exc_text = _FORMATTER.formatException(record.exc_info)
    sent.exc_info = None
    return sent
