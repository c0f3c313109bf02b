"""The JSON Schema of each command's `--json` output, generated from its structs."""

from typing import Annotated, Any

import msgspec

from turnetl.errors import BadUsage
from turnetl.output.backfill import BackfillOutput
from turnetl.output.base import ErrorOutput, JsonOutput, described
from turnetl.output.filter import FilterOutput
from turnetl.output.formats import FormatsOutput
from turnetl.output.ingest import IngestDryRunOutput, IngestOutput
from turnetl.output.journal import JournalPruneOutput, JournalStatsOutput
from turnetl.output.model_check import ModelCheckOutput
from turnetl.output.parse import ParseFilesOutput
from turnetl.output.rules import RuleExplanationOutput, RulesOutput
from turnetl.output.search import SearchOutput
from turnetl.output.status import StatusOutput
from turnetl.output.templates import TemplatesOutput


class CommandsOutput(JsonOutput):
    """The commands that have a JSON Schema."""

    commands: Annotated[list[str], described("The commands, in the order of the help.")]


OUTPUTS: dict[str, tuple[type[JsonOutput], ...]] = {
    "backfill": (BackfillOutput,),
    "parse": (ParseFilesOutput,),
    "filter": (FilterOutput, RuleExplanationOutput),
    "ingest": (IngestOutput, IngestDryRunOutput),
    "retry": (IngestOutput, IngestDryRunOutput),
    "status": (StatusOutput,),
    "search": (SearchOutput,),
    "formats": (FormatsOutput,),
    "rules": (RulesOutput,),
    "schema": (CommandsOutput,),
    "templates list": (TemplatesOutput,),
    "templates show": (TemplatesOutput,),
    "templates check": (TemplatesOutput,),
    "model check": (ModelCheckOutput,),
    "journal stats": (JournalStatsOutput,),
    "journal prune": (JournalPruneOutput,),
}
"""The objects that each command prints with `--json`, besides `ErrorOutput`."""


def commands_output() -> CommandsOutput:
    return CommandsOutput(commands=list(OUTPUTS))


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a command prints with `--json`.

    Raises:
        BadUsage: no command has this name; the message lists those that have one.
    """
    outputs = OUTPUTS.get(command)
    if outputs is None:
        raise BadUsage(f"no command `{command}` has a schema; known are {', '.join(OUTPUTS)}")
    types = (*outputs, ErrorOutput)
    references, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"turnetl {command} --json",
        "anyOf": list(references),
        "$defs": definitions,
    }
