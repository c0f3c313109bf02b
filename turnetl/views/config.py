"""The settings of a run with their sources, and the folders that may set some."""

import json
from collections.abc import Iterator
from typing import Any

from turnetl.base.control_characters import displayed_name
from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue
from turnetl.base.text import plural
from turnetl.trust.folder_trust import TrustEntry, TrustReport, TrustState
from turnetl.views.nodes import Caption, Column, Lines, Node, Table, View, line

_SENTENCES = {
    TrustState.TRUSTED: ("is trusted", "green"),
    TrustState.UNTRUSTED: ("is not trusted", "yellow"),
    TrustState.NO_FILES: ("is not trusted", "yellow"),
    TrustState.CHANGED: ("is no longer trusted", "yellow"),
}


def trust_view(report: TrustReport) -> View:
    lines = [node for entry in report.folders for node in _entry(entry)]
    return [*lines, Caption(f"{plural(len(report.folders), 'folder')}; {report.store}")]


def _entry(entry: TrustEntry) -> Iterator[Node]:
    sentence, style = _SENTENCES[entry.state]
    yield line((str(entry.folder), "bold"), " ", (sentence, style))
    lines = ["; ".join(entry.changes)] if entry.changes else []
    lines += [
        f"{displayed_name(file.name)}  {file.digest[:12] or file.problem}" for file in entry.files
    ]
    lines += [f"{value.name} = {value_text(value.value)}" for value in entry.settings]
    yield Lines(lines, indent=4)


_SOURCES = {
    SettingSource.OPTION: "option",
    SettingSource.ENVIRONMENT: "environment",
    SettingSource.USER: "file of the user",
    SettingSource.FOLDER: "trusted folder",
    SettingSource.DEFAULT: "default",
}


def view(report: ConfigReport) -> View:
    columns = (Column("setting", is_wrapped=False), Column("value"), Column("source"))
    rows = [(value.name, value_text(value.value), _source(value)) for value in report.values]
    given = sum(value.source != SettingSource.DEFAULT for value in report.values)
    defaults = len(report.values) - given
    caption = Caption(f"{plural(given, 'setting')} given, {defaults:,} by default")
    return [Table(columns, rows), caption]


def value_text(value: Any) -> str:
    """Return a value as a line of text: as JSON, and a text without its quotes."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _source(value: SettingValue) -> str:
    source = _SOURCES[value.source]
    return f"{source}: {value.origin}" if value.origin is not None else source
