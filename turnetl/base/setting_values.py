"""The value of a setting with the source that it is from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class SettingSource(StrEnum):
    """Where the value of a setting is from, the most trusted source first."""

    OPTION = "option"
    """An option of the command line, an argument in Python or a parameter of the flow."""
    ENVIRONMENT = "environment"
    USER = "user"
    """The config file of the user, or the one that `--config` names."""
    FOLDER = "folder"
    """The config file of the working directory, which the user trusted."""
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting."""

    name: str
    """With its sections, separated by points."""
    value: Any
    """As JSON has it, with `********` for a secret."""
    source: SettingSource
    origin: str | None = None
    """The environment variable or the path of the config file; None for the other sources."""


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """All settings that a run would have."""

    values: tuple[SettingValue, ...]
    """In the order of the documentation."""
    ignored: str | None = None
    """Why the configuration of the working directory is not used; None if it is, or if there is
    none."""
