"""Diagnostics of a template or an ontology file."""

from dataclasses import dataclass
from typing import Annotated, Literal

from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A diagnostic of a template or an ontology."""

    severity: Annotated[
        Literal["error", "warning"],
        described("`error`: the file is not used, or not as intended."),
    ]
    message: Annotated[str, described("What is wrong with the file.")]
    """Worded so that it can follow the file name."""


def error(message: str) -> Diagnostic:
    return Diagnostic("error", message)


def warning(message: str) -> Diagnostic:
    return Diagnostic("warning", message)
