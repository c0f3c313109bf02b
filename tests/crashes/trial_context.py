"""Where the commands of trials work."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from turnetl.base.clock import now
from turnetl.settings import Settings
from turnetl.settings.sections import ModelSettings, SummarySettings

AT_THE_END = SummarySettings()
"""A run writes the summaries that it deferred."""
REFRESHED = SummarySettings(min_similarity=1)
"""Every change of the facts of an entity makes a new summary."""
DEFERRED = SummarySettings(flush=False, min_similarity=1, burst_turns=2)
"""The second turn about an entity defers its summary, and no run writes it."""


@dataclass(frozen=True)
class TrialContext:
    """Where a command works."""

    folder: Path
    graph: str | None
    """URL of a graph on a server; None: an embedded graph in the lake."""
    provider: str | None
    """URL of a model's provider."""
    ahead: timedelta = timedelta(0)
    """How far the clock is ahead."""

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def url(self) -> str:
        return self.graph or f"ladybug://{self.lake / 'graph.lbug'}"

    def clock(self) -> datetime:
        return now() + self.ahead

    def settings(self, *, model: bool = False, summaries: SummarySettings = AT_THE_END) -> Settings:
        llm = ModelSettings()
        if model and self.provider is not None:
            llm = ModelSettings(
                provider="openai-compatible", base_url=f"{self.provider}/v1", model="canned"
            )
        return Settings(
            lake=self.lake,
            graph=self.url,
            llm=llm,
            summaries=summaries,
            jobs=1,
            graph_timeout_seconds=5,
            prefetch=2,
        )
