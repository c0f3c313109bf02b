"""The settings of a flow run: those of the worker, and what the parameters give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import get_run_logger

from turnetl.control_characters import displayed_message
from turnetl.errors import BadUsage
from turnetl.settings import Settings, load_with_sources, units

UMASK = 0o077
"""For files that libraries create beside a graph; turnetl's own need no umask."""


def load_run_settings(
    config: str | None,
    lake: str | None,
    graph: str | None,
    *,
    budget: str | list[str] | None = None,
    **arguments: Any,
) -> Settings:
    """Load the settings of the worker's environment and of the config, below the parameters.

    Args:
        config: path of a JSON config; None or empty: the worker's own.
        lake: folder of the tables; None or empty: that of the settings.
        graph: URL of the graph; None or empty: that of the settings.
        budget: amounts of the budget.
        arguments: other settings that a parameter gives; None and an empty text count
            as not given.

    Raises:
        BadUsage: a value is not valid, the URL holds a password, or a path is relative.
    """
    _check_no_password(graph)
    loaded = load_with_sources(
        Path(config).expanduser() if config else None,
        lake=lake or None,
        graph=graph or None,
        budget=_budget(budget),
        **{name: None if value == "" else value for name, value in arguments.items()},
    )
    if loaded.folder is not None and loaded.folder.warning is not None:
        get_run_logger().warning(displayed_message(loaded.folder.warning))
    settings = loaded.settings
    paths = (settings.lake, settings.group_map, settings.noise.rules)
    absolute_paths([str(path) for path in paths if path is not None])
    return settings


def absolute_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths with `~` expanded.

    Raises:
        BadUsage: a path is relative.
    """
    expanded = [str(Path(path).expanduser()) for path in paths]
    for path in expanded:
        if not Path(path).is_absolute():
            raise BadUsage(
                f"`{path}` is not an absolute path, and a worker runs in a folder of its own; "
                "give an absolute path or one that starts with `~`"
            )
    return expanded


def _check_no_password(graph: str | None) -> None:
    """Check that the parameter holds no password: Prefect stores and displays parameters.

    The server refuses such a parameter before it is stored, unless it does not check schemas.

    Raises:
        BadUsage: it does; the message omits it.
    """
    scheme, _, rest = (graph or "").partition("://")
    login, at, _ = rest.rpartition("@")
    if at and ":" in login and scheme != "ladybug":
        raise BadUsage(
            "the parameter `graph` holds a password, which Prefect has stored as it is: change the "
            "password, and set NEO4J_PASSWORD in the environment of the worker"
        )


def _budget(amounts: str | list[str] | None) -> dict[str, int | float | None] | None:
    if not amounts:
        return None
    return units.parse_budget([amounts] if isinstance(amounts, str) else amounts)
