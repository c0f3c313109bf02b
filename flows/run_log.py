"""The log of turnetl in the log of a flow run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging import LogRecord

from prefect import get_run_logger
from prefect.exceptions import MissingContextError
from prefect.logging.handlers import APILogHandler

from flows.warnings import each_once
from turnetl.base.control_characters import displayed_message
from turnetl.console.log import details


@contextmanager
def turnetl_log() -> Iterator[None]:
    """Send the records of turnetl, with their details, to the log of the current run.

    Warnings about templates pass once. A worker whose setting PREFECT_LOGGING_EXTRA_LOGGERS names
    turnetl sends its records already.
    """
    logger, handler = logging.getLogger("turnetl"), _RunHandler()
    level = logger.level
    is_sent = any(isinstance(one, APILogHandler) for one in logger.handlers)
    if not is_sent:
        logger.addHandler(handler)
        logger.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        with each_once():
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _RunHandler(logging.Handler):
    """Sends a record to the log of the task run that it is from, else to that of the flow run."""

    def __init__(self) -> None:
        super().__init__()
        self._of_flow = get_run_logger()

    def emit(self, record: LogRecord) -> None:
        try:
            log = get_run_logger()
        except MissingContextError:  # a thread that a library started
            log = self._of_flow
        text = record.getMessage() + details(record)
        log.log(record.levelno, "%s", displayed_message(text), exc_info=record.exc_info)
