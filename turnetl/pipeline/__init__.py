"""The stages as one pipeline: opens lake, graph and model, and passes them down.

The command line, the flows and the Python API are thin callers of this package. Its names are
imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
    from turnetl.pipeline.group_status import status
    from turnetl.pipeline.history import (
        digest,
        entity,
        fix,
        latest_digest,
        recent_digest,
        resume,
        sessions,
        timeline,
    )
    from turnetl.pipeline.index import (
        index_status,
        lacks_index,
        name_better_embedder,
        update_and_embed,
        update_index,
    )
    from turnetl.pipeline.inspect import check_model, copy_template, templates
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
    from turnetl.pipeline.run_merge import (
        duplicate_entities,
        merge,
        merge_duplicates,
        preview_merge,
        preview_split,
    )
    from turnetl.pipeline.run_options import RunOptions
    from turnetl.pipeline.run_redo import preview_redo, redo
    from turnetl.pipeline.run_review import preview_review, review
    from turnetl.pipeline.run_summarize import summarize, summarize_after
    from turnetl.pipeline.run_undo import preview_undo, undo
    from turnetl.pipeline.run_verify import VerifyOptions, repair_graph, upgrade, verify
    from turnetl.pipeline.search import sample_queries, search_sessions, search_turns
    from turnetl.pipeline.tables import explain_rule, filter_turns
    from turnetl.retrieval.digest import Digest

__getattr__ = lazy_exports(__name__)
