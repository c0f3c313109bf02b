"""What the flows `backfill` and `shard` do with their parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prefect import State

from flows.executor import PrefectTasks
from flows.ingest_archives import backfill_state, ingest_archives
from flows.run_settings import load_run_settings
from flows.setting_sources import SettingSources
from turnetl import pipeline
from turnetl.clock import now
from turnetl.ingestion import assumed_time as assumed
from turnetl.settings import ExtractorName, Settings
from turnetl.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillParameters:
    """The parameters, as the flows describe them."""

    archives: Sequence[str]
    lake: str | None
    graph: str | None
    group: str | None
    group_map: str | None
    format: str | None
    extractor: ExtractorName | None
    config: str | None
    settings_from: SettingSources | None
    since: datetime | None
    until: datetime | None
    limit: int | None
    close_after: float | None
    assume_time: str | None
    preprocessing: str | None
    reflexion: int | None
    budget: str | list[str] | None
    batch_size: int
    jobs: int | None
    group_concurrency: int | None
    model_slots: str | None
    shard: str | None = None

    async def run(self, flow: str) -> State[dict[str, Any]]:
        """Run the backfill, and return the state with its report.

        Args:
            flow: name of the flow, which the graph records.

        Raises:
            TurnetlError: a parameter is not valid, or the run could not be finished.
        """
        shard = None if self.shard is None else Shard.parse(self.shard)
        settings = await self.settings()
        options = pipeline.RunOptions(
            shard=shard,
            since=self.since,
            until=self.until,
            limit=self.limit,
            assumed_time=assumed.read(self.assume_time, now()) if self.assume_time else None,
            preprocessing=self.preprocessing,
            reflexion=self.reflexion,
            command=("flow", flow, *(() if shard is None else (str(shard),))),
        )
        report = await ingest_archives(
            self.archives,
            settings,
            options,
            format_name=self.format or None,
            executor=PrefectTasks(self.batch_size, self.model_slots, settings.llm.concurrency),
        )
        return backfill_state(report)

    async def settings(self) -> Settings:
        """Return the settings of this process, below the parameters.

        Raises:
            BadUsage: one is not valid.
        """
        return await load_run_settings(
            self.config,
            self.lake,
            self.graph,
            settings_from=self.settings_from,
            budget=self.budget,
            group=self.group,
            group_map=self.group_map,
            jobs=self.jobs,
            extractor=self.extractor,
            group_concurrency=self.group_concurrency,
            close_after_minutes=self.close_after,
        )
