"""The sections of the settings, each frozen and by itself."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from turnetl.settings import units

Provider = Literal["openai", "openai-compatible", "anthropic", "gemini", "none"]
EmbedderName = Literal["local", "openai-compatible"]

_HOUR = 60 * 60
_URL = "it begins with http:// or https://"


def _url(said: str | None) -> str | None:
    if said is not None and not said.startswith(("http://", "https://")):
        raise ValueError(f"this is no URL: {_URL}")
    return said


Url = Annotated[str, BeforeValidator(_url)]


class ModelSettings(BaseModel):
    """The language model, if there is one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Provider = "none"
    base_url: Url | None = None
    """Of an OpenAI-compatible server, up to and with `/v1`."""
    model: str | None = None
    api_key: SecretStr | None = None
    concurrency: int = Field(default=8, ge=1)
    """Calls in flight, over all groups."""
    models: dict[str, str] = Field(default_factory=dict)
    """Other models of the same provider for some prompts, by the beginning of the prompt's name:
    `dedupe_nodes`, `extract_edges.extract_timestamps`; `small` stands for those that Graphiti sends
    to a small model. In the environment `name=model`, parted by commas."""
    effort: str | None = None
    """How much a model that thinks shall think, in the provider's words; None: as little as it
    can."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    timeout_seconds: float = Field(default=120, gt=0, le=_HOUR)
    """An answer is waited for so long."""

    @field_validator("models", mode="before")
    @classmethod
    def _by_prompt(cls, said: object) -> object:
        if not isinstance(said, str):
            return said
        pairs = [one.partition("=") for one in said.split(",") if one.strip()]
        if not all(name.strip() and model.strip() for name, _, model in pairs):
            raise ValueError("say `prompt=model`, parted by commas")
        return {name.strip(): model.strip() for name, _, model in pairs}

    @field_validator("models")
    @classmethod
    def _named(cls, models: dict[str, str]) -> dict[str, str]:
        if unnamed := [name for name, model in models.items() if not (name and model)]:
            raise ValueError(f"`{unnamed[0]}` and its model must not be empty")
        return models


class BudgetSettings(BaseModel):
    """What a run may use at most; then it stops, and the next one goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: Annotated[int | None, BeforeValidator(units.tokens)] = Field(default=None, gt=0)
    """Of prompts and answers; also `200k`."""
    money: Annotated[float | None, BeforeValidator(units.money)] = Field(
        default=None, gt=0, allow_inf_nan=False
    )
    """US dollars; also `5usd`."""


class EmbedderSettings(BaseModel):
    """What makes vectors of texts. A graph stays with the one it was begun with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: EmbedderName = "local"
    """`local` needs no network and no key."""
    base_url: Url | None = None
    """Up to and with `/v1`; None: OpenAI's own."""
    model: str | None = None
    api_key: SecretStr | None = None
    dimensions: int | None = Field(default=None, ge=1, le=16_384)
    """Asked for, of models that give vectors of several lengths; None: as the model gives them."""

    @model_validator(mode="after")
    def _whole(self) -> "EmbedderSettings":
        if self.provider == "local":
            return self
        if self.model is None:
            raise ValueError(f"`{self.provider}` needs `embedder.model` too")
        if self.base_url is None and self.api_key is None:
            raise ValueError(f"`{self.provider}` needs `embedder.base_url`, or a key for OpenAI's")
        return self


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
