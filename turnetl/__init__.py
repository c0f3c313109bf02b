"""Years of coding-agent archives into a temporal knowledge graph.

What `__all__` lists is the public API, described in docs/api.md; everything else may change.
Names are imported on first use, so that `import turnetl` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnetl.base import graphiti_import
from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.activity_report.model import ReportFile
    from turnetl.agent_sources import Source, SourcesReport
    from turnetl.api.evaluation import compare_templates, evaluate
    from turnetl.api.export import export, import_lake
    from turnetl.api.forget import forget
    from turnetl.api.history import digest, entity, file, fix, show, timeline, why
    from turnetl.api.migrations import compare_migration, plan_migration
    from turnetl.api.plan import plan
    from turnetl.api.redo import redo
    from turnetl.api.report import write_report
    from turnetl.api.runs import backfill, filter, ingest, parse, run, runs, sources, status  # noqa: A004
    from turnetl.api.search import search, search_sessions
    from turnetl.api.serve import serve, serve_mcp
    from turnetl.api.summarize import build_communities, summarize
    from turnetl.api.undo import undo
    from turnetl.api.verify import verify
    from turnetl.backfill_report import BackfillReport
    from turnetl.base import errors
    from turnetl.base.errors import BadUsage, Fatal, Retryable, Skip, TurnetlError
    from turnetl.base.progress import Progress, ProgressUpdate
    from turnetl.base.shard import Shard
    from turnetl.episodes import FilterReport
    from turnetl.estimation.plan_report import PlanReport
    from turnetl.evaluation.compare_templates import TemplateComparison
    from turnetl.evaluation.recall import EvaluationReport
    from turnetl.ingestion.community_build import CommunityReport
    from turnetl.ingestion.forget_report import ForgetReport
    from turnetl.ingestion.ingest_report import GroupReport, IngestReport
    from turnetl.ingestion.plan import AssumedTime
    from turnetl.ingestion.redo_report import RedoReport
    from turnetl.ingestion.run_report import RecordedRun, RunsReport
    from turnetl.ingestion.summarize_report import SummarizeReport
    from turnetl.ingestion.undo_report import UndoReport
    from turnetl.migration.comparison import MigrationComparison
    from turnetl.migration.migration_report import EstimatedMigration
    from turnetl.parsing import ParseReport
    from turnetl.pipeline.opened_items import IndexAnswer
    from turnetl.pipeline.origin import FileAuthorship
    from turnetl.pipeline.run_communities import CommunityOptions
    from turnetl.pipeline.run_options import RunOptions
    from turnetl.retrieval.details import EntityDetails, FactDetails, SessionDetails, TurnDetails
    from turnetl.retrieval.digest import Digest
    from turnetl.retrieval.fix import ErrorHistory
    from turnetl.retrieval.hits import SearchHit, SessionHit
    from turnetl.retrieval.turn_summary import Timeline
    from turnetl.settings import Settings, load_settings
    from turnetl.status_report import StatusReport
    from turnetl.transfer.transfer_report import ExportReport, ImportReport
    from turnetl.verification.verify_report import VerifyReport

__all__ = [
    "AssumedTime",
    "BackfillReport",
    "BadUsage",
    "CommunityOptions",
    "CommunityReport",
    "Digest",
    "EntityDetails",
    "ErrorHistory",
    "EstimatedMigration",
    "EvaluationReport",
    "ExportReport",
    "FactDetails",
    "Fatal",
    "FileAuthorship",
    "FilterReport",
    "ForgetReport",
    "GroupReport",
    "ImportReport",
    "IndexAnswer",
    "IngestReport",
    "MigrationComparison",
    "ParseReport",
    "PlanReport",
    "Progress",
    "ProgressUpdate",
    "RecordedRun",
    "RedoReport",
    "ReportFile",
    "Retryable",
    "RunOptions",
    "RunsReport",
    "SearchHit",
    "SessionDetails",
    "SessionHit",
    "Settings",
    "Shard",
    "Skip",
    "Source",
    "SourcesReport",
    "StatusReport",
    "SummarizeReport",
    "TemplateComparison",
    "Timeline",
    "TurnDetails",
    "TurnetlError",
    "UndoReport",
    "VerifyReport",
    "backfill",
    "build_communities",
    "compare_migration",
    "compare_templates",
    "digest",
    "entity",
    "errors",
    "evaluate",
    "export",
    "file",
    "filter",
    "fix",
    "forget",
    "import_lake",
    "ingest",
    "load_settings",
    "parse",
    "plan",
    "plan_migration",
    "redo",
    "run",
    "runs",
    "search",
    "search_sessions",
    "serve",
    "serve_mcp",
    "show",
    "sources",
    "status",
    "summarize",
    "timeline",
    "undo",
    "verify",
    "why",
    "write_report",
]

_MODULES = {
    "turnetl.agent_sources": ("Source", "SourcesReport"),
    "turnetl.activity_report.model": ("ReportFile",),
    "turnetl.api.summarize": ("build_communities", "summarize"),
    "turnetl.api.evaluation": ("compare_templates", "evaluate"),
    "turnetl.api.export": ("export", "import_lake"),
    "turnetl.api.forget": ("forget",),
    "turnetl.api.history": ("digest", "entity", "file", "fix", "show", "timeline", "why"),
    "turnetl.api.migrations": ("compare_migration", "plan_migration"),
    "turnetl.api.plan": ("plan",),
    "turnetl.api.redo": ("redo",),
    "turnetl.api.report": ("write_report",),
    "turnetl.api.runs": (
        "backfill",
        "filter",
        "ingest",
        "parse",
        "run",
        "runs",
        "status",
        "sources",
    ),
    "turnetl.api.search": ("search", "search_sessions"),
    "turnetl.api.serve": ("serve_mcp", "serve"),
    "turnetl.api.undo": ("undo",),
    "turnetl.api.verify": ("verify",),
    "turnetl.backfill_report": ("BackfillReport",),
    "turnetl.episodes": ("FilterReport",),
    "turnetl.base.errors": ("BadUsage", "Fatal", "Retryable", "Skip", "TurnetlError"),
    "turnetl.estimation.plan_report": ("PlanReport",),
    "turnetl.migration.migration_report": ("EstimatedMigration",),
    "turnetl.evaluation.recall": ("EvaluationReport",),
    "turnetl.evaluation.compare_templates": ("TemplateComparison",),
    "turnetl.transfer.transfer_report": ("ExportReport", "ImportReport"),
    "turnetl.ingestion.plan": ("AssumedTime",),
    "turnetl.ingestion.community_build": ("CommunityReport",),
    "turnetl.ingestion.forget_report": ("ForgetReport",),
    "turnetl.ingestion.redo_report": ("RedoReport",),
    "turnetl.ingestion.ingest_report": ("GroupReport", "IngestReport"),
    "turnetl.ingestion.run_report": ("RecordedRun", "RunsReport"),
    "turnetl.ingestion.summarize_report": ("SummarizeReport",),
    "turnetl.ingestion.undo_report": ("UndoReport",),
    "turnetl.migration.comparison": ("MigrationComparison",),
    "turnetl.parsing": ("ParseReport",),
    "turnetl.pipeline.opened_items": ("IndexAnswer",),
    "turnetl.pipeline.origin": ("FileAuthorship",),
    "turnetl.pipeline.run_communities": ("CommunityOptions",),
    "turnetl.base.progress": ("Progress", "ProgressUpdate"),
    "turnetl.pipeline.run_options": ("RunOptions",),
    "turnetl.retrieval.details": ("EntityDetails", "FactDetails", "SessionDetails", "TurnDetails"),
    "turnetl.retrieval.digest": ("Digest",),
    "turnetl.retrieval.fix": ("ErrorHistory",),
    "turnetl.retrieval.hits": ("SearchHit", "SessionHit"),
    "turnetl.retrieval.turn_summary": ("Timeline",),
    "turnetl.settings": ("Settings", "load_settings"),
    "turnetl.status_report": ("StatusReport",),
    "turnetl.base.shard": ("Shard",),
    "turnetl.verification.verify_report": ("VerifyReport",),
}
"""Where each public name is defined."""
graphiti_import.prepare()
_get_export = lazy_exports(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    return import_module("turnetl.base.errors") if name == "errors" else _get_export(name)


def __dir__() -> list[str]:
    return __all__
