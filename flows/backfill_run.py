"""What the flows `backfill` and `shard` do with their parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prefect import State

from flows.executor import PrefectTasks
from flows.ingest_archives import backfill_state, ingest_archives, log_problems, publish
from flows.run_settings import SettingSources, load_run_settings
from turnetl import pipeline
from turnetl.backfill_report import BackfillReport
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.shard import Shard
from turnetl.ingestion import plan as assumed
from turnetl.settings import ExtractorName, Settings

LOCAL = "local"
"""The engine of a run in one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillParameters:
    """The parameters that both have, and that a run in several processes gives to each."""

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

    async def run(
        self, flow: str, *, shard: Shard | None = None, engine: str = LOCAL
    ) -> State[dict[str, Any]]:
        """Run the backfill, or a shard of it; the graph records the name of the flow."""
        settings, options = await self.settings(), self.options(flow, shard=shard)
        if engine != LOCAL:
            report = await _on_dask(engine.removeprefix("dask:"), self)
            log_problems(report.parsed)
            await publish(report)
            return backfill_state(report)
        report = await ingest_archives(
            self.archives,
            settings,
            options,
            format_name=self.format or None,
            executor=PrefectTasks(self.batch_size, self.model_slots, settings.llm.concurrency),
        )
        return backfill_state(report)

    def options(
        self, flow: str, *, shard: Shard | None = None, wait_seconds: float = 0
    ) -> pipeline.RunOptions:
        return pipeline.RunOptions(
            shard=shard,
            since=self.since,
            until=self.until,
            limit=self.limit,
            assumed_time=assumed.parse_assumed_time(self.assume_time, now())
            if self.assume_time
            else None,
            wait_seconds=wait_seconds,
            preprocessing=self.preprocessing,
            reflexion=self.reflexion,
            command=("flow", flow, *(() if shard is None else (str(shard),))),
        )

    async def settings(self) -> Settings:
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


async def _on_dask(address: str, parameters: BackfillParameters) -> BackfillReport:
    """Run the backfill on a Dask cluster; raises `BadUsage` if its packages are not installed."""
    try:
        from flows.dask_engine import backfill_on_dask  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name not in ("prefect_dask", "distributed", "dask"):
            raise
        raise BadUsage(
            "the engine `dask` needs further packages: install them with "
            "`pip install 'turnetl[prefect,dask]'`"
        ) from error
    return await backfill_on_dask(address, parameters)
