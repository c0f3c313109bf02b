"""The composition root: settings to grouping, redactor, filters, graph, model, embedder, extractor.

Every function reads the settings and opens or creates one thing; nothing is cached between calls.
Names are imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.wiring.clients import journal, model, model_stack, prices, shared_responses
    from turnetl.wiring.embedding import (
        embedder,
        group_embedder,
        is_built_in,
        is_remote,
        open_chosen_embedder,
    )
    from turnetl.wiring.extraction import (
        check_model,
        extractor,
        extractor_over,
        model_extractor,
        recipe,
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
    from turnetl.wiring.tables import (
        archive_files,
        lake,
        lake_in,
        machine_name,
        this_machine,
    )
    from turnetl.wiring.template_files import templates, thesaurus

__getattr__ = lazy_exports(__name__)
