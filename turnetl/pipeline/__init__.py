"""The stages as one pipeline: opens lake, graph and model, and passes them down.

The command line, the flows and the Python API are thin callers of this package.
"""

from turnetl.pipeline.backfill import backfill
from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
from turnetl.pipeline.history import entity, fix, timeline
from turnetl.pipeline.index import update_index
from turnetl.pipeline.ingest import ingest
from turnetl.pipeline.inspect import check_model, journal_prune, journal_stats, templates
from turnetl.pipeline.questions import estimate_index_questions, update_index_with_questions
from turnetl.pipeline.recipes import search_recipe
from turnetl.pipeline.search import sample_queries, search_turns
from turnetl.pipeline.show import show, show_archive_lines
from turnetl.pipeline.status import status
from turnetl.pipeline.tables import explain_rule, filter_turns, parse_archives
from turnetl.pipeline.why import why
from turnetl.run_options import RunOptions

__all__ = [
    "Executor",
    "InProcess",
    "RunOptions",
    "Stage",
    "Unit",
    "backfill",
    "check_model",
    "entity",
    "estimate_index_questions",
    "explain_rule",
    "filter_turns",
    "fix",
    "ingest",
    "journal_prune",
    "journal_stats",
    "parse_archives",
    "sample_queries",
    "search_recipe",
    "search_turns",
    "show",
    "show_archive_lines",
    "status",
    "templates",
    "timeline",
    "update_index",
    "update_index_with_questions",
    "why",
]
