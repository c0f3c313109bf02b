"""The value of a setting with the source that it is from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from turnetl.base.results import described


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
    """A setting, or an entry of one that is a mapping."""

    name: Annotated[str, described("The setting, with its sections, separated by points.")]
    value: Annotated[
        Any,
        described(
            "Its value; `********` in place of a password, a key and the values in the query of a "
            "URL."
        ),
    ]
    """As JSON has it."""
    source: Annotated[
        SettingSource,
        described("Where the value is from: `folder` is the trusted working directory."),
    ]
    origin: Annotated[
        str | None,
        described(
            "The environment variable, or the path of the config file; null for other sources."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """The settings that a run would have."""

    values: Annotated[tuple[SettingValue, ...], described("All settings.", name="settings")]
    """In the order of the documentation."""
    ignored: Annotated[
        str | None,
        described(
            "Why the configuration of the working directory is not used; null if it is used, or "
            "if there is none."
        ),
    ] = None
