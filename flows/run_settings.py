"""The settings of a flow run: those of the worker, and what the parameters give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.setting_sources import SettingSources, read_sources
from turnetl.base.errors import BadUsage
from turnetl.settings import Settings, load_settings, sections

_URLS = ("s3://", "gs://", "az://")
"""Of object stores, for lakes and archives."""


async def load_run_settings(
    config: str | None,
    lake: str | None,
    graph: str | None,
    *,
    settings_from: SettingSources | None,
    budget: str | list[str] | None = None,
    **arguments: Any,
) -> Settings:
    """Load the settings of the worker's environment and of the config, below the parameters.

    Blocks and variables win over both.

    Args:
        config: path of a JSON config; None or empty: the worker's own.
        lake: folder of the tables; None or empty: that of the settings.
        graph: URL of the graph; None or empty: that of the settings.
        settings_from: the settings that are read from blocks and variables.
        budget: amounts of the budget.
        arguments: other settings that a parameter gives; None and an empty text count as not
            given.

    Raises:
        BadUsage: a value is not valid, the URL holds a password, a path is relative, or a block or
            variable does not exist.
    """
    _check_no_password(graph)
    sourced = await read_sources(settings_from)
    parameters = {"lake": lake, "graph": graph, "budget": _budget(budget), **arguments}
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    settings = load_settings(_file(config), **sourced | given)
    paths = (settings.lake, settings.group_map, settings.noise.rules)
    absolute_paths([str(path) for path in paths if path is not None])
    return settings


def absolute_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths with `~` expanded, and URLs as they are.

    Raises:
        BadUsage: a path is relative.
    """
    expanded = [path if path.startswith(_URLS) else str(Path(path).expanduser()) for path in paths]
    for path in expanded:
        if not path.startswith(_URLS) and not Path(path).is_absolute():
            raise BadUsage(
                f"`{path}` is not an absolute path, and a worker runs in a folder of its own; "
                "give an absolute path or one that starts with `~`"
            )
    return expanded


def check_shared_graph(settings: Settings, sharers: str, instead: str) -> None:
    """Check that several processes can write the graph.

    Args:
        settings: of the run.
        sharers: the processes, for the message.
        instead: what does without several processes, for the message.

    Raises:
        BadUsage: it is an embedded one.
    """
    if settings.graph_url.startswith("ladybug:"):
        raise BadUsage(
            f"an embedded graph has one writer process, so that {sharers} cannot share it: use a "
            f"Neo4j graph, or {instead}"
        )


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


def _file(path: str | None) -> Path | None:
    return Path(path).expanduser() if path else None


def _budget(amounts: str | list[str] | None) -> dict[str, int | float | None] | None:
    if not amounts:
        return None
    return sections.parse_budget([amounts] if isinstance(amounts, str) else amounts)
