"""The settings of a run as one frozen object, and whether they show that it needs a model."""

import os
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    field_validator,
    model_validator,
)

from turnetl.base.graph_model import LONGEST_LEASE
from turnetl.base.object_url import ObjectUrl, object_url
from turnetl.extraction.config import DEFAULT_ONTOLOGY, DEFAULT_TEMPLATE, ExtractionConfig
from turnetl.settings.sections import (
    BudgetSettings,
    EmbedderSettings,
    LakePath,
    MaskedModel,
    MigrationSettings,
    ModelSettings,
    NoiseSettings,
    SummarySettings,
    UserPath,
    check_parts,
    default_lake,
)

ExtractorName = Literal["structural", "llm", "hybrid"]

_MAX_CLOSE_AFTER_MINUTES = 10 * 366 * 24 * 60
"""Minutes: ten years."""
_MAX_GRAPH_TIMEOUT = 60 * 60
"""Seconds."""


class Settings(MaskedModel):
    """All settings of a run.

    The constructor takes arguments and defaults only, so that the same call gives the same
    settings everywhere; the default lake is that of the user. `load_settings` also reads the
    environment and the config file. A value that is not valid is pydantic's `ValidationError`.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )

    lake: LakePath = Field(default_factory=lambda: default_lake(os.environ, Path.home()))  # noqa: TID251 - as documented
    """Folder of the tables, the journal and the embedded graph, or `s3://bucket/prefix`, `gs://…`
    or `az://…`. By default `$XDG_DATA_HOME/turnetl/lake`, else `~/.turnetl/lake`."""
    graph: str | None = None
    """URL of the graph: `bolt://host:7687`, `neo4j+s://…` or `ladybug:///path/file.lbug`. None: the
    file `graph.lbug` in the lake."""
    graph_user: str = "neo4j"
    """User of a Neo4j server. A user in the URL wins; `NEO4J_USER` is the fallback."""
    graph_password: SecretStr | None = None
    """Password of a Neo4j server. A password in the URL wins; `NEO4J_PASSWORD` is the fallback."""
    graph_timeout_seconds: float = Field(default=30, gt=0, le=_MAX_GRAPH_TIMEOUT)
    """Seconds after which a Neo4j server ends a transaction that writes, also one that waits for a
    lock, and after which a server that does not respond is given up."""
    mcp_token: SecretStr | None = Field(default=None, min_length=16)
    """Token that clients of `turnetl mcp --http` must send. None: one is drawn for each start."""
    llm: ModelSettings = ModelSettings()
    allow_unencrypted: bool = False
    """Send a key over plain HTTP, or the graph's password over a connection without TLS, to another
    machine. Never read from the working directory."""
    budget: BudgetSettings = BudgetSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    journal: bool = True
    """Store each response of a model in the lake, so that no request is paid for twice."""
    extractor: ExtractorName | None = None
    """Extractor of entities and facts. None: `llm` if a provider is set, else `structural`."""
    extraction: ExtractionConfig = ExtractionConfig()
    noise: NoiseSettings = NoiseSettings()
    summaries: SummarySettings = SummarySettings()
    migration: MigrationSettings = MigrationSettings()
    redact_pii: bool = False
    """Also redact personal data: addresses, names of people, accounts and machines. A change
    makes the next run read all archives again."""
    group: str | None = None
    """Group of all turns: a name, or a template of {project}, {format}, {user} and {host}. None:
    one group per project."""
    group_map: UserPath | None = None
    """TOML file with exceptions from `group`."""
    jobs: int | None = Field(default=None, ge=1)
    """Archives parsed in parallel. None: one per core."""
    group_concurrency: int = Field(default=4, ge=1)
    """Groups ingested concurrently. The turns of one group are always ingested one by one."""
    context_turns: int = Field(default=3, ge=0)
    """Earlier turns of the same session that the model sees as context."""
    prefetch: int = Field(default=16, ge=1)
    """Turns of a group that may be extracted ahead of the commit."""
    run_ahead: int = Field(default=4, ge=0, le=64)
    """Turns of a group that may be resolved ahead of the commit, with guesses of the responses that
    have not arrived; 0: none. A wrong guess costs a request, never a wrong graph."""
    invalidation_alert: int = Field(default=10, ge=0)
    """Facts that a turn may invalidate. If a model would invalidate more by one turn, all of them
    are held for `turnetl review`; 0: each one is. The structural extractor is only reported."""
    close_after_minutes: float = Field(default=30, ge=0, le=_MAX_CLOSE_AFTER_MINUTES)
    """Minutes without a new row after which the last turn of a session is closed."""
    lease_seconds: float = Field(default=120, gt=0, le=LONGEST_LEASE.total_seconds())
    """Seconds for which a run that no longer responds keeps its lease on a group."""

    _named: Mapping[Path, bytes] = PrivateAttr(default_factory=dict)
    _lake_urls: Mapping[Path, ObjectUrl] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _with_lake_url(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Put the folder for the local files of a lake in the place of its URL."""
        lake = values.get("lake") if isinstance(values, Mapping) else None
        try:
            url = object_url(lake) if isinstance(lake, str | PathLike) else None
        except ValueError:
            url = None  # The validator of the field says what is wrong.
        if url is None:
            return handler(values)
        folder = url.below(default_lake(os.environ, Path.home()).with_name("objects"))  # noqa: TID251 - as documented
        settings = handler({**values, "lake": folder})
        settings._lake_urls = {folder: url}  # noqa: SLF001 - of the same class
        return settings

    @field_validator("graph")
    @classmethod
    def _check_graph(cls, url: str | None) -> str | None:
        # The rest of a file's URL is a path as it is.
        return url if url is None or url.startswith("ladybug://") else check_parts(url)

    def with_named(self, contents: Mapping[Path, bytes]) -> Self:
        """Return these settings with the contents of files that they name, by path."""
        settings = self.model_copy()
        settings._named = contents  # noqa: SLF001 - of the same class
        return settings

    def content_of(self, path: Path) -> bytes | None:
        """Return the content of a named file when its digest was compared; None: read it."""
        return self._named.get(path)

    @property
    def lake_url(self) -> ObjectUrl | None:
        """The URL of a lake in an object store; `lake` is then the folder of its local files."""
        return self._lake_urls.get(self.lake)

    @property
    def lake_name(self) -> str:
        return str(self.lake_url or self.lake)

    @property
    def graph_url(self) -> str:
        return self.graph or f"ladybug://{(self.lake / 'graph.lbug').absolute()}"

    @property
    def extractor_name(self) -> ExtractorName:
        return self.extractor or ("structural" if self.llm.provider == "none" else "llm")

    @property
    def uses_model(self) -> bool:
        """Whether a run sends requests to a language model."""
        return self.extractor_name != "structural"


CONFIGURE_MODEL = (
    "set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and TURNETL_LLM__API_KEY, or use "
    "`--extractor structural`, which needs no model"
)
"""What to do if no model is configured."""
_RECIPE = ("model", "models", "base_url", "api_key", "effort")
"""The settings of `llm` that choose a model. The others set limits, also of models of a search."""


def model_intent(settings: Settings) -> tuple[str, ...]:
    """Return the names of settings that need a model; not of defaults and what is switched off."""
    budget = (f"budget.{name}" for name, limit in settings.budget if limit is not None)
    model = (f"llm.{name}" for name in _RECIPE if getattr(settings.llm, name))
    extraction = (f"extraction.{name}" for name in _extraction_names(settings.extraction))
    return (*budget, *model, *extraction)


def _extraction_names(config: ExtractionConfig) -> Iterator[str]:
    groups = config.groups.values()
    prompts = (
        *config.kinds.values(),
        *(group.preprocessing_prompt for group in groups),
        *(prompt for group in groups for prompt in group.kinds.values()),
    )
    if any(prompts) or config.preprocessing_prompt not in (DEFAULT_TEMPLATE, None, False):
        yield "preprocessing_prompt"
    if config.reflexion or any(group.reflexion for group in groups):
        yield "reflexion"
    if config.ontology not in (DEFAULT_ONTOLOGY, None):
        yield "ontology"
