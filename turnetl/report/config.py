"""The settings of a run with their sources, as a table."""

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.control_characters import displayed_name
from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue
from turnetl.base.text import plural
from turnetl.report.layout import caption, indented
from turnetl.trust.folder_trust import TrustEntry, TrustReport, TrustState

_SENTENCES = {
    TrustState.TRUSTED: ("is trusted", "green"),
    TrustState.UNTRUSTED: ("is not trusted", "yellow"),
    TrustState.NO_FILES: ("is not trusted", "yellow"),
    TrustState.CHANGED: ("is no longer trusted", "yellow"),
}


def view(report: TrustReport) -> RenderableType:
    """Render each folder with its files and what its config file sets."""
    lines = [line for entry in report.folders for line in _entry(entry)]
    return Group(*lines, caption(f"{plural(len(report.folders), 'folder')}; {report.store}"))


def _entry(entry: TrustEntry) -> Iterator[RenderableType]:
    sentence, style = _SENTENCES[entry.state]
    yield Text.assemble((str(entry.folder), "bold"), " ", (sentence, style))
    if entry.changes:
        yield indented(Text("; ".join(entry.changes)))
    for file in entry.files:
        yield indented(Text(f"{displayed_name(file.name)}  {file.digest[:12] or file.problem}"))
    for value in entry.settings:
        yield indented(Text(f"{value.name} = {value_text(value.value)}"))


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
