"""What a run needs to know, read once and frozen.

Order: what is handed in, then the environment (`TURNETL_*`, nested names with `__`), then the
`turnetl` and `extraction` sections of a JSON config, then the defaults below. Unknown names are
refused; secrets are never printed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from turnetl.errors import BadUsage
from turnetl.extraction.config import ExtractionConfig

ENV = "TURNETL_"
_FOR_TESTS = "TURNETL_TEST_"
CONFIG_NAME = "graphiti.config.json"
_LONGEST_QUIET = 10 * 366 * 24 * 60
"""Minutes: ten years."""
_OFF = ("none", "null", "false", "off")

Provider = Literal["openai", "openai-compatible", "anthropic", "gemini", "none"]
ExtractorName = Literal["structural", "llm", "both"]


class ModelSettings(BaseModel):
    """The language model, if there is one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Provider = "none"
    base_url: str | None = None
    """Of an OpenAI-compatible server, up to and with `/v1`."""
    model: str | None = None
    api_key: SecretStr | None = None
    at_once: int = Field(default=8, ge=1)
    """Calls in flight."""


class NoiseSettings(BaseModel):
    """Which rules speak against a turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep: tuple[str, ...] = ()
    """Names of rules that mark nothing; in the environment parted by commas."""
    drop: tuple[str, ...] = ()
    """Names of rules that mark, though they do not unless asked to."""
    rules: Path | None = None
    """A TOML file with rules of a person's own."""

    @field_validator("keep", "drop", mode="before")
    @classmethod
    def _listed(cls, names: object) -> object:
        given = [names] if isinstance(names, str) else names
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            return names
        return [name.strip() for one in given for name in one.split(",") if name.strip()]

    @field_validator("rules")
    @classmethod
    def _at_home(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else path

    def also(
        self, keep: tuple[str, ...], drop: tuple[str, ...], rules: Path | None
    ) -> "NoiseSettings":
        """Return these with what is said for one run: a name said now wins over the same before."""
        return NoiseSettings(
            keep=(*(name for name in self.keep if name not in drop), *keep),
            drop=(*(name for name in self.drop if name not in keep), *drop),
            rules=rules or self.rules,
        )


class Settings(BaseModel):
    """Everything a run may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lake: Path = Path("data/lake")
    graph: str | None = None
    """`bolt://host:7687`, `neo4j+s://...` `ladybug:///path`; None: a Ladybug file in the lake."""
    graph_user: str = "neo4j"
    graph_password: SecretStr | None = None
    """For a Neo4j server. A user and password in the URL win; `NEO4J_USER` and `NEO4J_PASSWORD`,
    which other Graphiti programs read, stand in where nothing else is said."""
    llm: ModelSettings = ModelSettings()
    extractor: ExtractorName | None = None
    """None: `llm` if a provider is named, else `structural`."""
    extraction: ExtractionConfig = ExtractionConfig()
    noise: NoiseSettings = NoiseSettings()
    redact_personal: bool = False
    """Cut out also what points to a person: e-mail addresses, names of home folders, IP addresses.
    A change makes archives be read anew."""
    group: str | None = None
    """Where turns go: a name, or a template of {project}, {format}, {user} and {host}; None: one
    group a project."""
    group_map: Path | None = None
    """A TOML file with exceptions from that."""
    jobs: int | None = Field(default=None, ge=1)
    """Archives read side by side; None: as many as there are cores."""
    groups_at_once: int = Field(default=4, ge=1)
    """Groups ingested side by side; the turns of one group never are."""
    context_turns: int = Field(default=3, ge=0)
    """Earlier turns of the same session that a model is shown."""
    ahead: int = Field(default=8, ge=1)
    """Turns whose extraction may run ahead of the commit."""
    quiet_minutes: float = Field(default=30, ge=0, le=_LONGEST_QUIET)
    """A last turn is over when nothing was written for so long."""
    lease_seconds: float = Field(default=120, gt=0)
    """How long a group stays ours if we fall silent."""

    @field_validator("lake", "group_map")
    @classmethod
    def _at_home(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else path

    @property
    def graph_url(self) -> str:
        return self.graph or f"ladybug://{(self.lake / 'graph.lbug').absolute()}"

    @property
    def extractor_name(self) -> ExtractorName:
        return self.extractor or ("structural" if self.llm.provider == "none" else "llm")


def read(
    environment: Mapping[str, str],
    *,
    config: Path | None,
    folders: tuple[Path, ...],
    given: Mapping[str, Any],
) -> Settings:
    """Put the settings together.

    Args:
        environment: the process's environment.
        config: a JSON config named by the person; must exist.
        folders: where to look for `graphiti.config.json` otherwise, first match wins.
        given: what was said on the command line; None counts as not said.

    Raises:
        BadUsage: an unknown name or a value that makes no sense; says which and where.
    """
    layers = [
        _from_config(_config_path(config, folders)),
        _from_environment(environment),
        {name: value for name, value in given.items() if value is not None},
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _merge(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise BadUsage(_sentence(error)) from None


def from_process(config: Path | None = None, **given: Any) -> Settings:
    """Read the settings of this process: its environment, and the two usual config places."""
    environment = os.environ  # noqa: TID251 - the one place where it is read
    folders = (Path.cwd(), Path.home() / ".graphiti")
    return read(environment, config=config, folders=folders, given=given)


def _config_path(config: Path | None, folders: tuple[Path, ...]) -> Path | None:
    if config is not None:
        if not config.is_file():
            raise BadUsage(
                f"there is no config file `{config}`; name one that exists with --config"
            )
        return config
    return next((f / CONFIG_NAME for f in folders if (f / CONFIG_NAME).is_file()), None)


def _from_config(path: Path | None) -> dict[str, Any]:
    """Take our two sections; the rest of the file belongs to other programs."""
    if path is None:
        return {}
    try:
        content = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise BadUsage(f"config file `{path}` cannot be read as JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("turnetl", {}), dict):
        raise BadUsage(f"config file `{path}`: expected an object with a `turnetl` section")
    section = dict(content.get("turnetl", {}))
    if "extraction" in content:
        section["extraction"] = content["extraction"]
    return section


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    usual = {"graph_user": "NEO4J_USER", "graph_password": "NEO4J_PASSWORD"}
    found: dict[str, Any] = {
        ours: environment[theirs] for ours, theirs in usual.items() if environment.get(theirs)
    }
    for name, value in sorted(environment.items()):
        if not name.startswith(ENV) or name.startswith(_FOR_TESTS) or value == "":
            continue
        path = name.removeprefix(ENV).lower().split("__")
        _put(found, path, value)
    return found


def _put(found: dict[str, Any], path: list[str], value: str) -> None:
    """Put a value under its name; one that stands where a section belongs is left to validation."""
    level = found
    for step in path[:-1]:
        below = level.setdefault(step, {})
        if not isinstance(below, dict):
            return
        level = below
    off = path == ["extraction", "preprocessing_prompt"] and value.lower() in _OFF
    level[path[-1]] = None if off else value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            merged[name] = _merge(under, value)
        else:
            merged[name] = value
    return merged


def _sentence(error: ValidationError) -> str:
    """Say what is wrong without the value: it may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = ".".join(str(step) for step in first["loc"])
    variable = ENV + "__".join(str(step) for step in first["loc"]).upper()
    if first["type"] == "extra_forbidden":
        known = ", ".join(_known(first["loc"][:-1]))
        return f"unknown setting `{name}` (environment `{variable}`); known are {known}"
    return f"setting `{name}` (environment `{variable}`): {first['msg']}"


def _known(section: tuple[int | str, ...]) -> list[str]:
    """Return the names of the settings in a section, each with the sections that it lies in."""
    model: type[BaseModel] = Settings
    for step in section:
        below = model.model_fields[str(step)].annotation
        if isinstance(below, type) and issubclass(below, BaseModel):
            model = below
    return [".".join((*map(str, section), name)) for name in model.model_fields]
