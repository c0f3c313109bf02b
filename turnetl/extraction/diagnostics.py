"""Diagnostics of a template or an ontology file."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem of a file, worded so that it can follow the file name."""

    severity: Literal["error", "warning"]
    """error: the file is not used, or not as intended. warning: it works, but can be improved."""
    message: str


def error(message: str) -> Diagnostic:
    return Diagnostic("error", message)


def warning(message: str) -> Diagnostic:
    return Diagnostic("warning", message)
