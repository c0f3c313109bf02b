"""Warnings about templates, logged once per run: every stage reads the same templates."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from turnetl.console import unique_messages

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
