"""`turnetl formats --json`."""

from collections.abc import Sequence
from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.formats import Format


class FormatOutput(JsonOutput):
    """A format of archives."""

    name: Annotated[str, described("Name of the format, as --format takes it.")]
    title: Annotated[str, described("The agent or export that writes it.")]


class FormatsOutput(JsonOutput):
    """The formats that turnetl reads."""

    formats: Annotated[list[FormatOutput], described("The formats.")]


def formats_output(formats: Sequence[Format]) -> FormatsOutput:
    return FormatsOutput(
        formats=[FormatOutput(name=format_.name, title=format_.title) for format_ in formats]
    )
