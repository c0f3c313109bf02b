"""All that a run may be told, as one frozen object."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from turnetl.extraction.config import ExtractionConfig
from turnetl.settings.sections import (
    BudgetSettings,
    EmbedderSettings,
    ModelSettings,
    NoiseSettings,
)

ExtractorName = Literal["structural", "llm", "hybrid"]

_LONGEST_QUIET = 10 * 366 * 24 * 60
"""Minutes: ten years."""


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
    budget: BudgetSettings = BudgetSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    journal: bool = True
    """Keep each answer of a model in the lake, so that it is never paid for twice."""
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
    group_concurrency: int = Field(default=4, ge=1)
    """Groups ingested side by side; the turns of one group never are."""
    context_turns: int = Field(default=3, ge=0)
    """Earlier turns of the same session that a model is shown."""
    prefetch: int = Field(default=16, ge=1)
    """Turns whose extraction may run ahead of the commit."""
    invalidation_alert: int = Field(default=10, ge=0)
    """A turn that retires more facts than this is named in the report."""
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
