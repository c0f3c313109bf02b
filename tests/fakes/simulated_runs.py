"""Runs with a simulated model under a budget: several groups into one embedded graph."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from tests.builders import START, episode
from tests.fakes.simulated_model import PRICES, SimulatedExtractor, SimulatedModel, turn_text
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import RunStopped
from turnetl.base.model import Episode, GroupId, SessionId, TurnId
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.budget import Budget
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

NOW = START + timedelta(days=40)


@dataclass(frozen=True)
class SimulatedRun:
    """What a run used and committed. Amounts are in US dollars."""

    used: float
    paid_for_committed: float
    committed: dict[GroupId, list[TurnId]]
    """Turns in the order of their commits, by group."""
    errors: tuple[str, ...]
    truncated: int
    requests: int
    expected: float
    """Expected cost of all planned turns, as the run had learned it at its end."""

    @property
    def turns(self) -> int:
        return sum(map(len, self.committed.values()))


def group_turns(seed: int, group: int, turns: int, sigma: float = 0.6) -> list[Episode]:
    """Return the turns of a group, oldest first."""
    name = GroupId(f"group{group}")
    return [_turn(name, f"{seed}-{group}-{number}", number, sigma) for number in range(turns)]


def _turn(group: GroupId, key: str, number: int, sigma: float) -> Episode:
    built = episode(
        key,
        group_id=group,
        session_id=SessionId(f"session of {group}"),
        ordinal=number,
        user_text=f"prompt {key}",
        started_at=START + timedelta(minutes=number),
    )
    text = turn_text(key, sigma)
    return replace(built, text=text, chunks=(text,), chars_after=len(text))


async def run_groups(
    groups: Sequence[Sequence[Episode]],
    folder: Path,
    *,
    usd: float | None = None,
    tokens: int | None = None,
    prefetch: int = 16,
    is_admission_shared: bool = True,
) -> SimulatedRun:
    """Ingest the groups in parallel into the graph of the folder.

    Args:
        groups: the turns of each group.
        folder: holds graph and journal.
        usd: the budget in dollars.
        tokens: the budget in tokens.
        prefetch: turns whose extraction may run ahead.
        is_admission_shared: whether the budget decides which turns start.
    """
    store = await open_graph(f"ladybug://{folder / 'graph.lbug'}", user="", password="")
    await store.prepare()
    model, meter = SimulatedModel(), Meter(PRICES)
    is_limited = usd is not None or tokens is not None
    budget = Budget(tokens, usd, meter, PRICES) if is_limited else None
    admission = TurnAdmission(budget if is_admission_shared else None)
    for turns in groups:
        admission.costs.plan(len(turns), sum(len(turn.text) for turn in turns))
    try:
        with closing(
            Journal(folder / "journal.sqlite", clock=lambda: NOW, min_free_bytes=0)
        ) as journal:
            policy = RetryPolicy(first_wait=0)
            stack = ModelStack(journal, budget, policy, Limiter(Slots(8)), meter)
            extractor = SimulatedExtractor(wrap(model, stack))
            ingests = (
                _ingest(turns, store, extractor, folder, prefetch, admission=admission)
                for turns in groups
            )
            errors = await asyncio.gather(*ingests)
            await extractor.close()
        return await _outcome(groups, store, model, meter, admission=admission, errors=errors)
    finally:
        await store.close()


async def _ingest(
    turns: Sequence[Episode],
    store: GraphStore,
    extractor: SimulatedExtractor,
    folder: Path,
    prefetch: int,
    *,
    admission: TurnAdmission,
) -> str | None:
    group = turns[0].turn.group_id
    run = IngestRun("run-1", "here:1", lambda: NOW, timedelta(minutes=5), prefetch)
    quarantine = Quarantine(LocalFiles(folder), group)
    pipeline = TurnPipeline(store, extractor, ToyEmbedder(), quarantine, run, admission=admission)
    try:
        await pipeline.ingest(group, turns, {turn.turn_id: () for turn in turns}, lambda _: None)
    except RunStopped as error:
        return str(error)
    return None


async def _outcome(
    groups: Sequence[Sequence[Episode]],
    store: GraphStore,
    model: SimulatedModel,
    meter: Meter,
    *,
    admission: TurnAdmission,
    errors: Iterable[str | None],
) -> SimulatedRun:
    committed = {
        (group := turns[0].turn.group_id): [one.turn_id for one in await store.receipts(group)]
        for turns in groups
    }
    paid = sum(model.paid[turn] for turns in committed.values() for turn in turns)
    expected = admission.costs.expected()
    return SimulatedRun(
        used=meter.total.cost or 0.0,
        paid_for_committed=paid,
        committed=committed,
        errors=tuple(error for error in errors if error is not None),
        truncated=model.truncated,
        requests=model.requests,
        expected=admission.paid.usd + (expected.usd if expected else 0.0),
    )
