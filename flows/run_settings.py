"""The settings of a flow run: of the worker, the parameters, and Prefect's blocks and variables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect.blocks.system import Secret
from prefect.variables import Variable
from pydantic import Field

from turnetl.base.errors import BadUsage
from turnetl.settings import Settings, load_settings, sections

SourcedSetting = Literal[
    "lake",
    "graph",
    "graph_user",
    "graph_password",
    "llm.provider",
    "llm.base_url",
    "llm.model",
    "llm.api_key",
    "embedder.provider",
    "embedder.base_url",
    "embedder.model",
    "embedder.api_key",
]
SettingSources = dict[
    SourcedSetting, Annotated[str, Field(pattern=r"^(secret|variable)/[a-z0-9_-]+$")]
]
"""By the name of a setting: `secret/` or `variable/`, and the name of the block or variable."""


async def read_sources(sources: Mapping[SourcedSetting, str] | None) -> dict[str, Any]:
    """Return the values, sections as dictionaries; raises `BadUsage` for one that is missing."""
    values: dict[str, Any] = {}
    for setting, source in (sources or {}).items():
        section, _, name = setting.rpartition(".")
        target = values.setdefault(section, {}) if section else values
        target[name] = await _read(setting, source)
    return values


async def _read(setting: str, source: str) -> str:
    kind, _, name = source.partition("/")
    value = await (_secret(name) if kind == "secret" else _variable(name))
    if value is None:
        noun = "Secret block" if kind == "secret" else "variable"
        raise BadUsage(
            f"there is no {noun} `{name}` with a text, which the parameter `settings_from` names "
            f"for the setting `{setting}`: create it on Prefect's server"
        )
    return value


async def _secret(name: str) -> str | None:
    try:
        block: Any = await Secret.aload(name)
    except ValueError:
        return None
    # `get` would read a key of digits as a number.
    value = block.value.get_secret_value()
    return value if isinstance(value, str) else None


async def _variable(name: str) -> str | None:
    value = await Variable.aget(name)
    return value if isinstance(value, str) else None


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

    Blocks and variables win over environment and config. A parameter that is None or an empty text
    counts as not given.

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
    """Return URLs as they are and paths with `~` expanded; raises `BadUsage` for a relative one."""
    expanded = [path if path.startswith(_URLS) else str(Path(path).expanduser()) for path in paths]
    for path in expanded:
        if not path.startswith(_URLS) and not Path(path).is_absolute():
            raise BadUsage(
                f"`{path}` is not an absolute path, and a worker runs in a folder of its own; "
                "give an absolute path or one that starts with `~`"
            )
    return expanded


def check_shared_graph(settings: Settings, sharers: str, instead: str) -> None:
    """Raise `BadUsage` if only one process can write the graph; `instead` needs only one."""
    if settings.graph_url.startswith("ladybug:"):
        raise BadUsage(
            f"an embedded graph has one writer process, so that {sharers} cannot share it: use a "
            f"Neo4j graph, or {instead}"
        )


def _check_no_password(graph: str | None) -> None:
    """Check that the parameter holds no password: Prefect stores and displays parameters.

    The server refuses such a parameter before it is stored, unless it does not check schemas.
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
