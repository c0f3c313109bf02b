"""The folders that the user trusts."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.control_characters import displayed_name
from turnetl.base.text import plural
from turnetl.report.config import value_text
from turnetl.report.layout import caption, indented
from turnetl.trust.folder_trust import TrustState
from turnetl.trust.report import TrustEntry, TrustReport

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
