"""The log of turnetl in the log of a flow run. A warning about templates passes once."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging import LogRecord

from prefect import get_run_logger
from prefect._internal.control_listener import get_intent
from prefect.exceptions import MissingContextError
from prefect.logging.handlers import APILogHandler

from turnetl.base.control_characters import displayed_message
from turnetl.console import unique_messages
from turnetl.console.log import details


@contextmanager
def turnetl_log() -> Iterator[None]:
    """Send the records of turnetl, with their details, to the log of the current run.

    A worker whose setting PREFECT_LOGGING_EXTRA_LOGGERS names turnetl sends its records already.
    """
    for name in _OF_RUNS:
        # Once in a process: its tasks may end after the flow.
        logging.getLogger(name).addFilter(is_no_cancelled_crash)
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


_OF_RUNS = ("prefect.flow_runs", "prefect.task_runs")


def is_no_cancelled_crash(record: LogRecord) -> bool:
    """Return False for the crash that Prefect logs for each task of a run that is cancelled."""
    return get_intent() != "cancel" or not record.getMessage().startswith("Crash detected!")


_LOGGERS = ("turnetl.extraction.config", "turnetl.extraction.templates")


@contextmanager
def each_once() -> Iterator[None]:
    """Let each warning about templates pass once within this context."""
    is_new = unique_messages()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(is_new)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_new)
