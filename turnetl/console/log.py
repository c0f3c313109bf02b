"""The log on standard error: warnings as sentences, and with `--verbose` everything."""

import logging

from turnetl.console.log_filter import unique_messages

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of every record; the others were passed as `extra`."""


class _VerboseFormatter(logging.Formatter):
    """A line per record: time, level, logger, message, and what was passed as `extra`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - overrides
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        facts = "".join(f" {name}={value}" for name, value in extra.items())
        return super().formatMessage(record) + facts


def install(*, verbose: bool, debug: bool) -> None:
    """Log to standard error.

    Without `verbose`, the log has the warnings of turnetl, each once, and no record of any other
    package: those are not written for users. With `verbose` it has every record of turnetl.

    Args:
        verbose: log everything.
        debug: log also the records with the traceback of an error.
    """
    logger = logging.getLogger("turnetl")
    handler = logging.StreamHandler()
    if verbose:
        handler.setFormatter(_VerboseFormatter())
        logger.setLevel(logging.DEBUG)
    else:
        handler.setFormatter(logging.Formatter("turnetl: %(message)s"))
        handler.addFilter(unique_messages())
        handler.addFilter(_is_warning_or_traceback)
        logger.setLevel(logging.INFO if debug else logging.WARNING)
    logger.addHandler(handler)
    logging.getLogger().addHandler(logging.NullHandler())


def _is_warning_or_traceback(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or bool(record.exc_info or record.exc_text)
