"""`turnetl config show --json`."""

from typing import Annotated, Any

from turnetl.base.results import JsonOutput, described
from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue


class SettingOutput(JsonOutput):
    """A setting, or an entry of one that is a mapping."""

    name: Annotated[str, described("The setting, with its sections, separated by points.")]
    value: Annotated[
        Any,
        described(
            "Its value; `********` in place of a password, a key and the values in the query of a "
            "URL."
        ),
    ]
    source: Annotated[
        SettingSource,
        described("Where the value is from: `folder` is the trusted working directory."),
    ]
    origin: Annotated[
        str | None,
        described(
            "The environment variable, or the path of the config file; null for other sources."
        ),
    ]


class ConfigOutput(JsonOutput):
    """The settings that a run would have."""

    settings: Annotated[list[SettingOutput], described("All settings.")]
    ignored: Annotated[
        str | None,
        described(
            "Why the configuration of the working directory is not used; null if it is used, or "
            "if there is none."
        ),
    ]


def config_output(report: ConfigReport) -> ConfigOutput:
    return ConfigOutput([setting_output(value) for value in report.values], report.ignored)


def setting_output(value: SettingValue) -> SettingOutput:
    return SettingOutput(value.name, value.value, value.source, value.origin)
