"""Years of coding-agent archives into a temporal knowledge graph.

What `__all__` lists is the public API, described in docs/api.md; everything else may change.
Names are imported on first use, so that `import turnetl` costs nothing.
"""

from typing import TYPE_CHECKING

from turnetl.base import graphiti_import
from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.activity_report.model import ReportFile
    from turnetl.agent_sources import Source, SourcesReport
    from turnetl.api.evaluation import compare_templates, evaluate
    from turnetl.api.export import export, import_lake, sql
    from turnetl.api.history import (
        digest,
        entity,
        file,
        fix,
        resume,
        search,
        search_sessions,
        sessions,
        show,
        timeline,
        why,
    )
    from turnetl.api.migrations import compare_migration, plan_migration
    from turnetl.api.plan import plan
    from turnetl.api.report import write_report
    from turnetl.api.runs import (
        backfill,
        filter,  # noqa: A004
        ingest,
        parse,
        run,
        runs,
        sources,
        status,
        verify,
    )
    from turnetl.api.serve import serve, serve_mcp
    from turnetl.api.summarize import build_communities, summarize
    from turnetl.api.undo import forget, merge_entities, redo, split_entity, undo
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
    from turnetl.ingestion.forget import ForgetReport
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
    from turnetl.retrieval.sessions import Resumption, SessionList
    from turnetl.retrieval.turn_summary import Timeline
    from turnetl.settings import Settings, load_settings
    from turnetl.status_report import StatusReport
    from turnetl.transfer.sql import SqlResult
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
    "Resumption",
    "Retryable",
    "RunOptions",
    "RunsReport",
    "SearchHit",
    "SessionDetails",
    "SessionHit",
    "SessionList",
    "Settings",
    "Shard",
    "Skip",
    "Source",
    "SourcesReport",
    "SqlResult",
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
    "merge_entities",
    "parse",
    "plan",
    "plan_migration",
    "redo",
    "resume",
    "run",
    "runs",
    "search",
    "search_sessions",
    "serve",
    "serve_mcp",
    "sessions",
    "show",
    "sources",
    "split_entity",
    "sql",
    "status",
    "summarize",
    "timeline",
    "undo",
    "verify",
    "why",
    "write_report",
]

graphiti_import.prepare()
__getattr__ = lazy_exports(__name__)


def __dir__() -> list[str]:
    return __all__
