"""The sections of the settings. Each is frozen and validates itself.

Amounts are written as people write them: `5usd`, `$5`, `2.50`, `200k tokens`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from turnetl.base.errors import BadUsage
from turnetl.base.object_url import SCHEMES, object_url, shown_text, url_scheme
from turnetl.llm.embedders import is_folder


def default_lake(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_DATA_HOME/turnetl/lake` if that is absolute, else `~/.turnetl/lake`."""
    data = Path(environment.get("XDG_DATA_HOME", ""))
    return data / "turnetl" / "lake" if data.is_absolute() else home / ".turnetl" / "lake"


def _not_empty(path: object) -> object:
    # A `Path` of nothing is the working directory.
    if path == "":
        raise ValueError("must not be empty")
    return path


def _expanded(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must be a path without NUL characters")
    if scheme := url_scheme(path):
        raise ValueError(
            f"must be a path on this machine, and `{scheme}://` starts a URL; write an absolute "
            "path if a folder has that name"
        )
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("must not begin with `~` and an unknown user") from None


UserPath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_expanded)]
"""A path that may begin with `~`."""


def _expanded_lake(path: Path) -> Path:
    scheme = url_scheme(path)
    if scheme is None:
        return _expanded(path)
    object_url(path)  # Raises with what is wrong with it.
    others = ", ".join(f"`{known}://`" for known in SCHEMES)
    raise ValueError(
        f"must be a path on this machine or a URL with {others}, and not with `{scheme}://`; write "
        "an absolute path if a folder has that name"
    )


LakePath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_expanded_lake)]
"""A path that may begin with `~`. The URL of a lake was replaced before."""


_AMOUNT = re.compile(
    r"(?P<sign>\$)?\s*(?P<number>\d[\d,_]*(?:\.\d+)?|\.\d+)\s*(?P<times>[km])?[\s-]*"
    r"(?P<unit>usd|dollars?|tokens?|tok)?",
    re.IGNORECASE,
)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_AMBIGUOUS_DOLLARS = 1_000
"""From this amount on, a number without a unit is more likely to mean tokens."""
_EXAMPLES = "write for example `5usd`, `$2.50`, `200k tokens` or `1.5m tokens`"
_OFF = "none"


def parse_budget(amounts: Sequence[str]) -> dict[str, int | float | None]:
    """Return a budget as `usd`, `tokens`, or both, from one amount of each, or `none`."""
    if [amount.strip().lower() for amount in amounts] == [_OFF]:
        return {"usd": None, "tokens": None}
    budget: dict[str, int | float | None] = {}
    for text in amounts:
        kind, amount = _parse_amount(text)
        if kind in budget:
            raise BadUsage(f"two budgets of {kind} were given; give one in dollars, one in tokens")
        budget[kind] = amount
    return budget


def parse_usd(value: object) -> object:
    """Return US dollars for a text. Values of other types are returned as they are."""
    return _parse_kind("usd", value)


def parse_tokens(value: object) -> object:
    """Return a number of tokens for a text, as `parse_usd`; a number without a unit is tokens."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return _parse_kind("tokens", value)


def _parse_kind(expected: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.strip().lower() == _OFF:
        return None
    try:
        kind, amount = _parse_amount(value)
    except BadUsage as error:
        raise ValueError(str(error)) from None
    if kind != expected:
        raise ValueError(f"this is an amount of {kind}, expected {expected}; {_EXAMPLES}")
    return amount


def _parse_amount(text: str) -> tuple[str, int | float]:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise BadUsage(f"`{text}` is not a budget; {_EXAMPLES}")
    number = float(re.sub("[,_]", "", match["number"]))
    factor, unit = (match["times"] or "").lower(), (match["unit"] or "").lower()
    is_usd = bool(match["sign"]) or unit in ("usd", "dollar", "dollars")
    if is_usd and (factor or unit.startswith("tok")):
        raise BadUsage(f"`{text}` is not a budget: it mixes dollars and tokens; {_EXAMPLES}")
    if not is_usd and not factor and not unit:
        if number >= _AMBIGUOUS_DOLLARS:
            raise BadUsage(
                f"`{text}` could be dollars or tokens; write `{text}usd` or `{text} tokens`"
            )
        is_usd = True
    if not (math.isfinite(number) and number > 0):
        raise BadUsage(f"`{text}` is not a budget: it must be more than zero; {_EXAMPLES}")
    return ("usd", number) if is_usd else ("tokens", round(number * _FACTORS[factor]))


Provider = Literal["openai", "openai-compatible", "anthropic", "gemini", "none"]
EmbedderName = Literal["local", "minilm", "fastembed", "openai-compatible"]

_HOUR = 60 * 60
_WEEK_MINUTES = 7 * 24 * 60
_MAX_AGE_DAYS = 3_650
_LIMITS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SECTION = ConfigDict(frozen=True, extra="forbid")


def _check_url(value: str | None) -> str | None:
    if value is not None and not value.startswith(("http://", "https://")):
        raise ValueError("must be a URL that begins with http:// or https://")
    return check_parts(value)


def check_parts(url: str | None) -> str | None:
    """Check that a URL can be split. The error of the library would quote its password."""
    try:
        _ = urlsplit(url or "").port
    except ValueError:
        raise ValueError(
            "must be a valid URL; special characters in a password are percent-encoded"
        ) from None
    return url


Url = Annotated[str, BeforeValidator(_check_url)]


class MaskedModel(BaseModel):
    """A model in whose representation URLs are masked, as in a log or a traceback."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, shown_text(value) if isinstance(value, str) else value


class ModelSettings(MaskedModel):
    """The language model."""

    model_config = _SECTION

    provider: Provider = "none"
    """Provider of the model: `openai`, `openai-compatible`, `anthropic`, `gemini` or `none`."""
    base_url: Url | None = None
    """URL of an OpenAI-compatible server, including `/v1`."""
    model: str | None = None
    """Name of the model, as the provider spells it."""
    api_key: SecretStr | None = None
    """API key of the provider."""
    concurrency: int = Field(default=8, ge=1)
    """Requests in flight, over all groups and over all processes that share the limits."""
    models: dict[str, str] = Field(default_factory=dict)
    """Other models of the same provider for some prompts, by the beginning of the prompt's name:
    `dedupe_nodes`, `extract_edges.extract_timestamps`. `small` names the model for the prompts that
    Graphiti sends to a small model. In the environment `name=model`, separated by commas."""
    effort: str | None = None
    """Reasoning effort, as the provider names its levels. None: the lowest level."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Rate limit in requests per minute, over all groups and over all processes that share it."""
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Rate limit in tokens per minute, over all groups and over all processes that share it."""
    shared_limits: str = "auto"
    """Which processes share the limits. `auto`: if there is a limit per minute, all with the same
    provider, URL and model, and the same graph server, or else the same lake. `none`: every process
    has its own. Any other name: all with this name and the same graph server or lake."""
    timeout_seconds: float = Field(default=120, gt=0, le=_HOUR)
    """Timeout of a request, in seconds."""

    @field_validator("shared_limits")
    @classmethod
    def _check_limits_name(cls, name: str) -> str:
        if not _LIMITS_NAME.fullmatch(name):
            raise ValueError(
                "must be `auto`, `none` or a name of at most 64 letters, digits, dots, hyphens and "
                "underscores"
            )
        return name

    @field_validator("models", mode="before")
    @classmethod
    def _split_models(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
        if not all(name.strip() and model.strip() for name, _, model in pairs):
            raise ValueError("must be `prompt=model`, separated by commas")
        return {name.strip(): model.strip() for name, _, model in pairs}

    @field_validator("models")
    @classmethod
    def _check_models(cls, models: dict[str, str]) -> dict[str, str]:
        if empty := [name for name, model in models.items() if not (name and model)]:
            raise ValueError(f"`{empty[0]}` and its model must not be empty")
        return models


class BudgetSettings(BaseModel):
    """The limit of a run: it stops there, and the next run continues."""

    model_config = _SECTION

    tokens: Annotated[int | None, BeforeValidator(parse_tokens)] = Field(default=None, gt=0)
    """Tokens of prompts and completions; also written `200k`."""
    usd: Annotated[float | None, BeforeValidator(parse_usd)] = Field(
        default=None, gt=0, allow_inf_nan=False
    )
    """US dollars; also written `5usd`."""


class EmbedderSettings(MaskedModel):
    """The embedder. A graph keeps the embedder that its first turn was ingested with."""

    model_config = _SECTION

    provider: EmbedderName = "local"
    """`local` needs neither network nor key; `minilm`, the path of a folder with a model, and
    `fastembed:NAME` run a model on this machine; `openai-compatible` sends requests."""
    base_url: Url | None = None
    """URL of the server, including `/v1`. None: OpenAI's own."""
    model: str | None = None
    """Name of the embedding model; with `fastembed` also a folder that holds one."""
    api_key: SecretStr | None = None
    """API key of the server."""
    dimensions: int | None = Field(default=None, ge=1, le=16_384)
    """Dimensions to request from a model that supports several. None: the model's default."""

    @model_validator(mode="before")
    @classmethod
    def _split_provider(cls, values: object) -> object:
        provider = values.get("provider") if isinstance(values, dict) else None
        if not isinstance(values, dict) or not isinstance(provider, str):
            return values
        name, _, model = provider.partition(":")
        if is_folder(provider):
            name, model = "fastembed", provider
        elif name != "fastembed" or name == provider:
            return values
        if values.get("model") not in (None, model):
            raise ValueError(f"`{provider}` and `embedder.model` name two models")
        return {**values, "provider": name, "model": model}

    @model_validator(mode="after")
    def _check_complete(self) -> "EmbedderSettings":
        if self.provider in ("local", "minilm"):
            return self
        if not self.model:
            raise ValueError(f"`{self.provider}` needs `embedder.model` too")
        if self.provider == "fastembed":
            if self.dimensions is not None:
                raise ValueError("`fastembed` has the dimensions of its model: unset them")
            return self
        if self.base_url is None and self.api_key is None:
            raise ValueError(f"`{self.provider}` needs `embedder.base_url`, or a key for OpenAI's")
        return self


class NoiseSettings(BaseModel):
    """Which noise rules mark turns."""

    model_config = _SECTION

    disable: tuple[str, ...] = ()
    """Rules to disable, by name; in the environment separated by commas."""
    enable: tuple[str, ...] = ()
    """Rules to enable that are disabled by default, by name; separated as in `disable`."""
    rules: UserPath | None = None
    """TOML file with rules of your own."""

    @field_validator("disable", "enable", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            return value
        return [name.strip() for part in names for name in part.split(",") if name.strip()]

    def merged(
        self, disable: tuple[str, ...], enable: tuple[str, ...], rules: Path | None
    ) -> "NoiseSettings":
        """Return these settings with those of one run, which win where both name the same rule."""
        return NoiseSettings(
            disable=(*(name for name in self.disable if name not in enable), *disable),
            enable=(*(name for name in self.enable if name not in disable), *enable),
            rules=rules or self.rules,
        )


class MigrationSettings(BaseModel):
    """What `migrate compare` counts as expressed, and what a cutover requires without --accept."""

    model_config = _SECTION

    fact_similarity: float = Field(default=0.6, ge=0, le=1)
    """Cosine from which a new fact that shares an entity with an old one expresses it."""
    min_expressed: float = Field(default=0.1, ge=0, le=1)
    """Share of the old facts that new facts must express; of a few facts, a share that may have
    come about by chance does not count against it."""
    min_probe_hits: float = Field(default=0.9, ge=0, le=1)
    """Share of the search probes whose session must be found among the turns."""


class SummarySettings(BaseModel):
    """When summaries of entities are written. A change concerns later turns only."""

    model_config = _SECTION

    flush: bool = True
    """Write summaries that are still deferred at the end of a run."""
    min_similarity: float = Field(default=0.985, ge=0, le=1)
    """Cosine between the facts of a summary and those of today from which on it is kept."""
    burst_turns: int = Field(default=3, ge=2)
    """Turns about an entity within `burst_minutes` that defer its summary."""
    burst_minutes: float = Field(default=30, gt=0, le=_WEEK_MINUTES)
    """Also the pause after which a deferred summary is written."""
    burst_cap: int = Field(default=10, ge=1)
    """Turns after which a deferred summary is written although more follow."""
    max_age_days: float = Field(default=30, gt=0, le=_MAX_AGE_DAYS)
    """Days after which even a small change makes a new summary."""
