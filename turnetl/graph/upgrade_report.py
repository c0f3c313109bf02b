"""What `turnetl graph upgrade` did with the file of an embedded graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class GraphUpgrade:
    """A graph file in the storage version of the installed release of its database."""

    graph: Annotated[Path, described("The file of the graph.")]
    storage_version: Annotated[
        int, described("Storage version of the installed release, which the file has now.")
    ]
    previous_version: Annotated[
        int | None, described("Storage version before; null if there was nothing to do.")
    ] = None
    tables: Annotated[
        Mapping[str, int], described("Copied rows of each table; empty if there was nothing to do.")
    ] = field(default_factory=dict)
    kept: Annotated[
        Path | None,
        described("Where the old file is kept, with its logs; null if there was nothing to do."),
    ] = None
    is_log_cut: Annotated[
        bool,
        described(
            "Whether an incomplete transaction at the end of the old log was left out.",
            name="log_cut",
        ),
    ] = False
