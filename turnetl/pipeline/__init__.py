"""The stages as one pipeline: opens lake, graph and model, and passes them down.

The command line, the flows and the Python API are thin callers of this package. Its names are
imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
    from turnetl.pipeline.group_status import status
    from turnetl.pipeline.history import digest, entity, fix, recent_digest, timeline
    from turnetl.pipeline.index import update_index
    from turnetl.pipeline.inspect import (
        check_model,
        copy_template,
        templates,
    )
    from turnetl.pipeline.opened_items import show, show_archive_lines
    from turnetl.pipeline.origin import why
    from turnetl.pipeline.parse_plan import parse_archives, sources
    from turnetl.pipeline.questions import estimate_index_questions, update_index_with_questions
    from turnetl.pipeline.recipes import search_recipe
    from turnetl.pipeline.recorded_runs import runs, show_run
    from turnetl.pipeline.run_backfill import backfill, parse
    from turnetl.pipeline.run_communities import CommunityOptions, build_communities
    from turnetl.pipeline.run_forget import forget, preview_forget
    from turnetl.pipeline.run_ingest import ingest
    from turnetl.pipeline.run_options import RunOptions
    from turnetl.pipeline.run_redo import preview_redo, redo
    from turnetl.pipeline.run_summarize import summarize, summarize_after
    from turnetl.pipeline.run_undo import preview_undo, undo
    from turnetl.pipeline.run_upgrade import upgrade
    from turnetl.pipeline.run_verify import VerifyOptions, repair_graph, verify
    from turnetl.pipeline.search import sample_queries, search_sessions, search_turns
    from turnetl.pipeline.tables import explain_rule, filter_turns
    from turnetl.retrieval.digest import Digest

__all__ = [
    "CommunityOptions",
    "Digest",
    "Executor",
    "InProcess",
    "RunOptions",
    "Stage",
    "Unit",
    "VerifyOptions",
    "backfill",
    "build_communities",
    "check_model",
    "copy_template",
    "digest",
    "entity",
    "estimate_index_questions",
    "explain_rule",
    "filter_turns",
    "fix",
    "forget",
    "ingest",
    "parse",
    "parse_archives",
    "preview_forget",
    "preview_redo",
    "preview_undo",
    "recent_digest",
    "redo",
    "repair_graph",
    "runs",
    "sample_queries",
    "search_recipe",
    "search_sessions",
    "search_turns",
    "show",
    "show_archive_lines",
    "show_run",
    "sources",
    "status",
    "summarize",
    "summarize_after",
    "templates",
    "timeline",
    "undo",
    "update_index",
    "update_index_with_questions",
    "upgrade",
    "verify",
    "why",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "turnetl.retrieval.digest": ("Digest",),
        "turnetl.pipeline.executor": ("Executor", "InProcess", "Stage", "Unit"),
        "turnetl.pipeline.group_status": ("status",),
        "turnetl.pipeline.history": ("digest", "entity", "fix", "recent_digest", "timeline"),
        "turnetl.pipeline.index": ("update_index",),
        "turnetl.pipeline.inspect": (
            "check_model",
            "copy_template",
            "templates",
        ),
        "turnetl.pipeline.opened_items": ("show", "show_archive_lines"),
        "turnetl.pipeline.origin": ("why",),
        "turnetl.pipeline.questions": ("estimate_index_questions", "update_index_with_questions"),
        "turnetl.pipeline.recipes": ("search_recipe",),
        "turnetl.pipeline.run_backfill": ("backfill", "parse"),
        "turnetl.pipeline.run_communities": ("CommunityOptions", "build_communities"),
        "turnetl.pipeline.run_summarize": ("summarize_after", "summarize"),
        "turnetl.pipeline.run_forget": ("forget", "preview_forget"),
        "turnetl.pipeline.run_ingest": ("ingest",),
        "turnetl.pipeline.recorded_runs": ("runs", "show_run"),
        "turnetl.pipeline.search": ("sample_queries", "search_sessions", "search_turns"),
        "turnetl.pipeline.parse_plan": ("parse_archives", "sources"),
        "turnetl.pipeline.tables": ("explain_rule", "filter_turns"),
        "turnetl.pipeline.run_redo": ("preview_redo", "redo"),
        "turnetl.pipeline.run_undo": ("preview_undo", "undo"),
        "turnetl.pipeline.run_upgrade": ("upgrade",),
        "turnetl.pipeline.run_verify": ("VerifyOptions", "repair_graph", "verify"),
        "turnetl.pipeline.run_options": ("RunOptions",),
    },
)
