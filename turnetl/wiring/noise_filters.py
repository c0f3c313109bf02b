"""How archives are parsed and turns are filtered: grouping, format, redactor, noise rules."""

import getpass
import os
import platform
from collections.abc import Sequence

from turnetl import formats, noise
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.episodes import Filters
from turnetl.episodes.filters import ALL_GROUPS, KINDS
from turnetl.extraction.config import PromptConfigs
from turnetl.formats import Format
from turnetl.lake.redaction_key import redaction_key
from turnetl.parsing.grouping import Grouping, load_grouping
from turnetl.redact import SecretRedactor
from turnetl.redact.port import is_plain
from turnetl.settings import Settings
from turnetl.wiring.tables import lake
from turnetl.wiring.template_files import templates


def archive_grouping(settings: Settings, *, stores: bool = True) -> Grouping:
    """Return how the turns of an archive are assigned to a group. Names of groups have no secrets.

    Raises:
        BadUsage: a group template or a map file that is not valid; names file and line.
    """
    if settings.group in (groups := lake(settings).groups()):
        return Grouping(existing=groups[groups.index(GroupId(settings.group))])
    map_file = settings.group_map
    grouping = load_grouping(
        settings.group,
        map_file,
        user=user_name(),
        host=platform.node(),
        map_content=settings.content_of(map_file) if map_file is not None else None,
    )
    if all(map(is_plain, grouping.names)):
        return grouping
    redacted = redactor(settings, stores=stores).redact([*grouping.names]).texts
    return grouping.with_names(redacted)


def format_named(name: str | None) -> Format | None:
    """Return the format with this name, None for no name; `BadUsage` lists the known formats."""
    if name is None:
        return None
    if known := formats.by_name(name):
        return known
    names = ", ".join(known.name for known in formats.FORMATS)
    raise BadUsage(f"there is no format `{name}`; known formats: {names}")


def jobs(settings: Settings) -> int:
    """Return how many archives are parsed in parallel: by default one per available core."""
    if settings.jobs is not None:
        return settings.jobs
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def redactor(settings: Settings, *, stores: bool = True) -> SecretRedactor:
    """Return the redactor with the key of the lake; if it `stores` texts, a new lake gets a key.

    Raises:
        Fatal: the key of the lake is missing, damaged, or cannot be read or written.
    """
    return SecretRedactor(redaction_key(lake(settings), create=stores), pii=settings.redact_pii)


def filters(settings: Settings, *, one_off: bool = False) -> Filters:
    """Return the noise rules, `one_off` if for this run only, and the patterns of noise."""
    config, prompts = settings.noise, PromptConfigs(settings.extraction, templates())
    groups = (ALL_GROUPS, *map(GroupId, settings.extraction.groups))
    return Filters(
        rules=noise.select_rules(config.disable, config.enable, _user_rules(settings)),
        patterns=prompts.for_turn(ALL_GROUPS).noise_patterns,
        overrides=_pattern_overrides(prompts, groups),
        one_off=one_off,
    )


def noise_rules(settings: Settings) -> tuple[noise.NoiseRule, ...]:
    """Return all noise rules, active or not, in the order in which they are applied."""
    return noise.all_rules(_user_rules(settings))


def noise_rule(settings: Settings, name: str) -> noise.NoiseRule:
    return noise.find_rule(name, _user_rules(settings))


def _pattern_overrides(
    prompts: PromptConfigs, groups: Sequence[GroupId]
) -> dict[tuple[GroupId, str], tuple[str, ...]]:
    """Return the noise patterns by group and kind; empty if they are the same for all."""
    default = prompts.for_turn(ALL_GROUPS).noise_patterns
    overrides = {
        (group, kind): prompts.for_turn(group, kind).noise_patterns
        for group in groups
        for kind in KINDS
    }
    return overrides if any(patterns != default for patterns in overrides.values()) else {}


def _user_rules(settings: Settings) -> tuple[noise.NoiseRule, ...]:
    path = settings.noise.rules
    return noise.read_rules(path, settings.content_of(path)) if path is not None else ()


def user_name() -> str:
    """Return the user name; `nobody` in a container without user names."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "nobody"
