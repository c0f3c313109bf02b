"""The JSON Schema of each command's `--json` output, generated from its results."""

from dataclasses import dataclass
from typing import Annotated, Any

from turnetl.activity_report.model import ReportFile
from turnetl.agent_sources import SourcesReport
from turnetl.backfill_report import BackfillReport
from turnetl.base.errors import BadUsage
from turnetl.base.result_schema import definitions_of
from turnetl.base.results import ErrorOutput, described
from turnetl.base.setting_values import ConfigReport
from turnetl.episodes import FilterReport
from turnetl.episodes.rule_examples import RuleExplanation
from turnetl.estimation.plan_report import PlanReport
from turnetl.evaluation.compare_templates import TemplateComparison
from turnetl.evaluation.recall import EvaluationReport
from turnetl.extraction.catalog import TemplateCatalog
from turnetl.formats import FormatsReport
from turnetl.graph.upgrade_report import GraphUpgrade
from turnetl.index.index_report import IndexReport, QuestionEstimate
from turnetl.ingestion.community_build import CommunityReport
from turnetl.ingestion.forget import ForgetReport
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.ingestion.redo_report import RedoReport
from turnetl.ingestion.review import ReviewReport
from turnetl.ingestion.run_report import RecordedRun, RunsReport
from turnetl.ingestion.summarize_report import SummarizeReport
from turnetl.ingestion.undo_report import UndoReport
from turnetl.install.changes import InstallReport
from turnetl.json_output.serve import ServeOutput
from turnetl.llm.checks import ModelCheck
from turnetl.llm.journal import JournalStats, PruneResult
from turnetl.migration.comparison import MigrationComparison
from turnetl.migration.migration_report import EstimatedMigration, MigrationRun
from turnetl.migration.moves import MigrationChange
from turnetl.noise import RulesReport
from turnetl.parsing import ParsedFiles
from turnetl.pipeline.history import Fixes
from turnetl.pipeline.opened_items import ArchiveLines, IndexAnswer
from turnetl.pipeline.origin import FileAuthorship
from turnetl.pipeline.run_merge import DuplicateReport
from turnetl.pipeline.search import SearchResult
from turnetl.prefect_report import DoctorReport, SetupReport
from turnetl.retrieval.details import EntityDetails, FactDetails, SessionDetails, TurnDetails
from turnetl.retrieval.digest import Digest
from turnetl.retrieval.recipe_search import RecipeResults
from turnetl.retrieval.sessions import Resumption, SessionList
from turnetl.retrieval.turn_summary import Timeline
from turnetl.status_report import StatusReport
from turnetl.transfer.sql import SqlResult
from turnetl.transfer.transfer_report import ExportReport, ImportReport
from turnetl.trust.folder_trust import TrustReport
from turnetl.verification.verify_report import VerifyReport


@dataclass(frozen=True, slots=True)
class CommandsOutput:
    """The commands that have a JSON Schema."""

    commands: Annotated[list[str], described("The commands, in the order of the help.")]


@dataclass(frozen=True, slots=True)
class JsonSchemaOutput:
    """The JSON Schema of what a command prints with `--json`."""

    dialect: Annotated[str, described("URL of the dialect: draft 2020-12.", name="$schema")]
    title: Annotated[str, described("The command.")]
    objects: Annotated[
        list[dict[str, str]],
        described("References to the objects; the command prints one.", name="anyOf"),
    ]
    definitions: Annotated[
        dict[str, dict[str, Any]],
        described("The schema of each object, by its name.", name="$defs"),
    ]


OUTPUTS: dict[str, tuple[type, ...]] = {
    "backfill": (BackfillReport,),
    "plan": (PlanReport,),
    "sources": (SourcesReport,),
    "parse": (ParsedFiles,),
    "filter": (FilterReport, RuleExplanation),
    "ingest": (IngestReport,),
    "retry": (IngestReport,),
    "review": (ReviewReport,),
    "redo": (RedoReport,),
    "undo": (UndoReport,),
    "forget": (ForgetReport,),
    "status": (StatusReport,),
    "runs": (RunsReport,),
    "runs show": (RecordedRun,),
    "report": (ReportFile,),
    "verify": (VerifyReport,),
    "graph upgrade": (GraphUpgrade,),
    "summarize": (SummarizeReport,),
    "communities build": (CommunityReport,),
    "migrate plan": (EstimatedMigration,),
    "migrate compare": (MigrationComparison,),
    "migrate run": (MigrationRun,),
    "migrate cutover": (MigrationChange,),
    "migrate rollback": (MigrationChange,),
    "migrate finish": (MigrationChange,),
    "search": (SearchResult, RecipeResults),
    "index": (IndexReport, QuestionEstimate),
    "evaluate": (EvaluationReport,),
    "show": (
        IndexAnswer[TurnDetails],
        IndexAnswer[SessionDetails],
        IndexAnswer[EntityDetails],
        IndexAnswer[FactDetails],
        ArchiveLines,
    ),
    "timeline": (IndexAnswer[Timeline],),
    "sessions": (IndexAnswer[SessionList],),
    "resume": (IndexAnswer[Resumption],),
    "digest": (IndexAnswer[Digest],),
    "entity": (IndexAnswer[EntityDetails],),
    "entity duplicates": (DuplicateReport,),
    "entity merge": (RedoReport,),
    "entity split": (RedoReport,),
    "file": (IndexAnswer[EntityDetails],),
    "fix": (IndexAnswer[Fixes],),
    "why": (IndexAnswer[FileAuthorship],),
    "serve": (ServeOutput,),
    "install": (InstallReport,),
    "uninstall": (InstallReport,),
    "export": (ExportReport,),
    "sql": (SqlResult,),
    "import": (ImportReport,),
    "formats": (FormatsReport,),
    "rules": (RulesReport,),
    "config show": (ConfigReport,),
    "trust": (TrustReport,),
    "prefect setup": (SetupReport,),
    "prefect doctor": (DoctorReport,),
    "schema": (CommandsOutput, JsonSchemaOutput),
    "templates list": (TemplateCatalog,),
    "templates show": (TemplateCatalog,),
    "templates copy": (TemplateCatalog,),
    "templates check": (TemplateCatalog,),
    "templates compare": (TemplateComparison,),
    "model check": (ModelCheck,),
    "journal stats": (JournalStats,),
    "journal prune": (PruneResult,),
}
"""The objects that each command prints with `--json`, besides `ErrorOutput`."""


def commands_output() -> CommandsOutput:
    return CommandsOutput(commands=list(OUTPUTS))


def json_schema_output(command: str) -> JsonSchemaOutput:
    """Return the schema of a command as the object that `turnetl schema COMMAND --json` prints.

    Raises:
        BadUsage: see `json_schema`.
    """
    schema = json_schema(command)
    return JsonSchemaOutput(schema["$schema"], schema["title"], schema["anyOf"], schema["$defs"])


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a command prints with `--json`.

    Raises:
        BadUsage: no command has this name; the message lists those that have one.
    """
    outputs = OUTPUTS.get(command)
    if outputs is None:
        raise BadUsage(f"no command `{command}` has a schema; known are {', '.join(OUTPUTS)}")
    references, definitions = definitions_of((*outputs, ErrorOutput))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"turnetl {command} --json",
        "anyOf": references,
        "$defs": definitions,
    }
