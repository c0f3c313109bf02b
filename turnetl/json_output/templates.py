"""`turnetl templates list --json`, and the same of `show`, `copy` and `check`."""

from collections.abc import Sequence
from typing import Annotated, Literal

from turnetl.base.results import JsonOutput, described
from turnetl.extraction.catalog import CatalogEntry, TemplateSource


class DiagnosticOutput(JsonOutput):
    """A diagnostic of a template or an ontology."""

    severity: Annotated[
        Literal["error", "warning"],
        described("`error`: the file is not used, or not as intended."),
    ]
    message: Annotated[str, described("What is wrong with the file.")]


class TemplateOutput(JsonOutput):
    """A template, an ontology, or instructions in the config file."""

    name: Annotated[str, described("Its name, as the config file takes it.")]
    path: Annotated[str | None, described("The file that is used; null if there is no file.")]
    source: Annotated[
        TemplateSource | None,
        described("Where it is from; `path` if a setting names its path; null if nowhere."),
    ]
    overrides: Annotated[
        list[str], described("Files of the same name that are not used because of it.")
    ]
    digest: Annotated[
        str, described("Digest of `text`; another digest makes committed turns stale.")
    ]
    tokens_per_request: Annotated[
        int, described("Estimated tokens that it adds to the longest request.")
    ]
    tokens_per_turn: Annotated[int, described("Estimated tokens that it adds to a turn.")]
    used_for: Annotated[list[str], described("The turns that it is used for.")]
    diagnostics: Annotated[list[DiagnosticOutput], described("Its diagnostics.")]
    text: Annotated[str, described("The text that the model receives; empty if none.")]


class TemplatesOutput(JsonOutput):
    """Templates and ontologies."""

    templates: Annotated[list[TemplateOutput], described("The templates and ontologies.")]


def templates_output(entries: Sequence[CatalogEntry]) -> TemplatesOutput:
    return TemplatesOutput(templates=[_template(entry) for entry in entries])


def _template(entry: CatalogEntry) -> TemplateOutput:
    return TemplateOutput(
        name=entry.name,
        path=None if entry.path is None else str(entry.path),
        source=entry.source,
        overrides=[str(path) for path in entry.overrides],
        digest=entry.digest,
        tokens_per_request=entry.tokens_per_request,
        tokens_per_turn=entry.tokens_per_turn,
        used_for=list(entry.used_for),
        diagnostics=[
            DiagnosticOutput(severity=diagnostic.severity, message=diagnostic.message)
            for diagnostic in entry.diagnostics
        ],
        text=entry.prompt_text,
    )
