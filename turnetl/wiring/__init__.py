"""The composition root: settings to grouping, redactor, filters, graph, model, embedder, extractor.

Every function reads the settings and opens or creates one thing; nothing is cached between calls.
Names are imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.wiring.clients import journal, model, model_stack, prices, shared_responses
    from turnetl.wiring.embedding import embedder, group_embedder, is_built_in, is_remote
    from turnetl.wiring.extraction import (
        check_model,
        extractor,
        extractor_over,
        model_extractor,
        recipe,
        templates,
    )
    from turnetl.wiring.graph import store
    from turnetl.wiring.index import (
        check_index,
        graph_state,
        has_index,
        index_id,
        index_snapshot,
        missing_graph,
        repair_index,
        replace_index,
        search_index,
        session_index,
    )
    from turnetl.wiring.ingestion import check, flush_rules, ingest_resources
    from turnetl.wiring.noise_filters import (
        archive_grouping,
        filters,
        format_named,
        jobs,
        noise_rule,
        noise_rules,
        redactor,
        user_name,
    )
    from turnetl.wiring.tables import archive_files, lake, lake_in, machine_name, this_machine

__all__ = [
    "archive_files",
    "archive_grouping",
    "check",
    "check_index",
    "check_model",
    "embedder",
    "extractor",
    "extractor_over",
    "filters",
    "flush_rules",
    "format_named",
    "graph_state",
    "group_embedder",
    "has_index",
    "index_id",
    "index_snapshot",
    "ingest_resources",
    "is_built_in",
    "is_remote",
    "jobs",
    "journal",
    "lake",
    "lake_in",
    "machine_name",
    "missing_graph",
    "model",
    "model_extractor",
    "model_stack",
    "noise_rule",
    "noise_rules",
    "prices",
    "recipe",
    "redactor",
    "repair_index",
    "replace_index",
    "search_index",
    "session_index",
    "shared_responses",
    "store",
    "templates",
    "this_machine",
    "user_name",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "turnetl.wiring.clients": ("journal", "model", "model_stack", "prices", "shared_responses"),
        "turnetl.wiring.embedding": ("embedder", "group_embedder", "is_built_in", "is_remote"),
        "turnetl.wiring.extraction": (
            "check_model",
            "extractor",
            "extractor_over",
            "model_extractor",
            "recipe",
            "templates",
        ),
        "turnetl.wiring.graph": ("store",),
        "turnetl.wiring.index": (
            "check_index",
            "graph_state",
            "has_index",
            "index_id",
            "index_snapshot",
            "missing_graph",
            "repair_index",
            "replace_index",
            "search_index",
            "session_index",
        ),
        "turnetl.wiring.ingestion": ("check", "flush_rules", "ingest_resources"),
        "turnetl.wiring.tables": (
            "archive_files",
            "lake",
            "lake_in",
            "machine_name",
            "this_machine",
        ),
        "turnetl.wiring.noise_filters": (
            "archive_grouping",
            "filters",
            "format_named",
            "jobs",
            "noise_rule",
            "noise_rules",
            "redactor",
            "user_name",
        ),
    },
)
