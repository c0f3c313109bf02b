"""Settings that a run reads from Prefect's Secret blocks and variables."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from prefect.blocks.system import Secret
from prefect.variables import Variable
from pydantic import Field

from turnetl.base.errors import BadUsage

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
    """Return the values of settings, sections as dictionaries.

    Raises:
        BadUsage: a block or variable does not exist.
    """
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
