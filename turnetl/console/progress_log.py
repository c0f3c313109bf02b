"""Progress in the log, for runs without a terminal."""

import logging

from turnetl.base.progress import ProgressUpdate

_log = logging.getLogger(__name__)


def log_progress(step: ProgressUpdate) -> None:
    """Log a stage when it is finished, and each step on the way there at a lower level."""
    level = logging.INFO if step.done == step.total else logging.DEBUG
    _log.log(level, "%s %s: %d of %d", step.stage, step.name, step.done, step.total)
