"""What a run with a model is made of, to look at: templates, the model itself, its journal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnetl import wiring
from turnetl.extraction.catalog import CatalogEntry, catalog, chosen
from turnetl.llm.check_result import CheckResult
from turnetl.llm.journal import Pruned, Stats
from turnetl.llm.retry import RetryPolicy
from turnetl.pipeline.tokens import tokens
from turnetl.run_options import Clock, RunOptions, for_run
from turnetl.settings import Settings

_SHORT = RetryPolicy(attempts=4, asks=3)
"""Somebody sits and waits for what a check says. The third time, a server that ignores schemas is
told them in words."""


def templates(settings: Settings, names: Sequence[str] = ()) -> Sequence[CatalogEntry]:
    """Return the templates and ontologies of these names, all that there are if none is named.

    Raises:
        BadUsage: nothing has such a name; says which there are.
    """
    return chosen(catalog(settings.extraction, wiring.templates(), tokens), names)


async def check_model(
    settings: Settings, limits: RunOptions, clock: Clock
) -> Sequence[CheckResult]:
    """Ask the model one question of each kind that a run asks. What it answers is not kept.

    Raises:
        BadUsage: the model is not fully named.
        ModelRefused: a person must act first: a key, credit, the model's name.
        ModelBusy: no answer.
    """
    # An answer out of the journal says nothing of what the model can do today.
    asked = settings.model_copy(update={"extractor": "llm", "journal": False})
    once = for_run(asked, limits)
    wiring.check(once, limits.preprocessing)
    with wiring.shared(once, clock) as around:
        return await wiring.checked(once, replace(around, patience=_SHORT))


def journal_stats(settings: Settings, clock: Clock) -> Stats:
    """Say what the journal of the lake holds. Makes no file.

    Raises:
        JournalRefused: it cannot be read.
    """
    with wiring.journal(settings, clock) as journal:
        return journal.stats()


def journal_prune(
    settings: Settings,
    clock: Clock,
    *,
    older_than: datetime | None,
    model: str | None,
    everything: bool,
    dry_run: bool,
) -> Pruned:
    """Take answers out of the journal of the lake: those of which all that is said is true.

    Args:
        settings: where the lake is.
        clock: the time now.
        older_than: those kept before.
        model: those of this model, with or without its provider.
        everything: all of them.
        dry_run: only say which.

    Raises:
        BadUsage: nothing says which.
        JournalRefused: it cannot be read or written.
    """
    with wiring.journal(settings, clock) as journal:
        return journal.prune(
            older_than=older_than, model=model, everything=everything, dry_run=dry_run
        )
