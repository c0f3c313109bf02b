"""Values of options that are text on the command line."""

from typing import TYPE_CHECKING, Any

from turnetl.base.clock import now

if TYPE_CHECKING:  # importing these takes a second, which `--help` must not spend
    from turnetl.base.shard import Shard
    from turnetl.ingestion.assumed_time import AssumedTime


def budget_settings(budget: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings that the option `--budget` makes; none without it.

    Raises:
        BadUsage: it is no amount.
    """
    if not budget:
        return {}
    from turnetl.settings.units import parse_budget

    return {"budget": parse_budget(budget)}


def read_assumed_time(text: str | None) -> "AssumedTime | None":
    """Return the time that the option `--assume-time` names.

    Raises:
        BadUsage: it names none.
    """
    if text is None:
        return None
    from turnetl.ingestion import assumed_time

    return assumed_time.read(text, now())


def read_shard(text: str | None) -> "Shard | None":
    """Return the shard that the option names.

    Raises:
        BadUsage: it names none.
    """
    from turnetl.base.shard import Shard

    return None if text is None else Shard.parse(text)
