"""What archives are read with and turns are marked with: groups, formats, redactor, rules."""

import getpass
import os
import platform
from collections.abc import Sequence

from turnetl import formats, noise
from turnetl.episodes import Filters
from turnetl.episodes.classify import KINDS
from turnetl.episodes.filters import ALL_GROUPS
from turnetl.errors import BadUsage
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.formats.base import Format
from turnetl.model import GroupId
from turnetl.parse.grouping import Grouping, grouping
from turnetl.redact import Redactor
from turnetl.settings import Settings
from turnetl.wiring.extraction import templates


def groups(settings: Settings) -> Grouping:
    """Return how the groups of turns are found.

    Raises:
        BadUsage: a template or a map file that makes no sense; says where and what to do.
    """
    return grouping(settings.group, settings.group_map, user=_user(), host=platform.node())


def named(format_name: str | None) -> Format | None:
    """Return the format of that name, None for no name.

    Raises:
        BadUsage: there is none; says which there are.
    """
    if format_name is None:
        return None
    if found := formats.named(format_name):
        return found
    known = ", ".join(one.name for one in formats.KNOWN)
    raise BadUsage(f"there is no format `{format_name}`; there are: {known}")


def jobs(settings: Settings) -> int:
    """Return how many archives are read side by side: as many as we may use cores, by default."""
    if settings.jobs is not None:
        return settings.jobs
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def redactor(settings: Settings) -> Redactor:
    return Redactor(personal=settings.redact_personal)


def filters(settings: Settings, *, one_off: bool = False) -> Filters:
    """Return which turns are noise, and what texts leave out.

    Args:
        settings: rules by name, a file of rules, and the template with its patterns.
        one_off: said for this run alone.

    Raises:
        BadUsage: a rule that is not there, a file of rules or a template that makes no sense.
    """
    chosen, steering = settings.noise, PromptConfigs(settings.extraction, templates())
    return Filters(
        rules=noise.select_rules(chosen.keep, chosen.drop, _own_rules(settings)),
        patterns=steering.of(ALL_GROUPS).noise_patterns,
        overrides=_overrides(steering, (ALL_GROUPS, *map(GroupId, settings.extraction.groups))),
        one_off=one_off,
    )


def rules(settings: Settings) -> tuple[noise.NoiseRule, ...]:
    """Return all noise rules that there are, on and off, in the order in which they name a turn.

    Raises:
        BadUsage: the person's own file cannot be read, or a rule of it makes no sense.
    """
    return noise.all_rules(_own_rules(settings))


def rule(settings: Settings, name: str) -> noise.NoiseRule:
    """Return the noise rule of that name.

    Raises:
        BadUsage: there is none; says which there are.
    """
    return noise.find_rule(name, _own_rules(settings))


def _overrides(
    steering: PromptConfigs, groups: Sequence[GroupId]
) -> dict[tuple[GroupId, str], tuple[str, ...]]:
    """Return the patterns of all groups and kinds; nothing if they are the same for all."""
    plain = steering.of(ALL_GROUPS).noise_patterns
    found = {
        (group, kind): steering.of(group, kind).noise_patterns for group in groups for kind in KINDS
    }
    return found if any(patterns != plain for patterns in found.values()) else {}


def _own_rules(settings: Settings) -> tuple[noise.NoiseRule, ...]:
    return noise.read_rules(settings.noise.rules) if settings.noise.rules is not None else ()


def _user() -> str:
    """Return who runs this; a container may know nobody."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "nobody"
