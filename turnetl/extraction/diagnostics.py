"""What is wrong with a file that a person may edit."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing, in half a sentence that goes on behind the file's name."""

    grade: Literal["error", "warning"]
    """An error: the file is not used, or not as it was meant. A warning: it could be better."""
    text: str


def error(text: str) -> Diagnostic:
    return Diagnostic("error", text)


def warning(text: str) -> Diagnostic:
    return Diagnostic("warning", text)
