"""The settings of a run with their sources, as a table."""

import json
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue
from turnetl.base.text import plural
from turnetl.report.layout import caption

_SOURCES = {
    SettingSource.OPTION: "option",
    SettingSource.ENVIRONMENT: "environment",
    SettingSource.USER: "file of the user",
    SettingSource.FOLDER: "trusted folder",
    SettingSource.DEFAULT: "default",
}


def table(report: ConfigReport) -> RenderableType:
    """Render a row per setting."""
    view = Table()
    view.add_column("setting", no_wrap=True)
    view.add_column("value", overflow="fold")
    view.add_column("source", overflow="fold")
    for value in report.values:
        view.add_row(value.name, Text(value_text(value.value)), Text(_source(value)))
    given = sum(value.source != SettingSource.DEFAULT for value in report.values)
    defaults = len(report.values) - given
    return Group(view, caption(f"{plural(given, 'setting')} given, {defaults:,} by default"))


def value_text(value: Any) -> str:
    """Return a value as a line of text: as JSON, and a text without its quotes."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _source(value: SettingValue) -> str:
    source = _SOURCES[value.source]
    return f"{source}: {value.origin}" if value.origin is not None else source
