"""What a process would do with a run: compared before a run is divided among several processes."""

from collections.abc import Mapping
from importlib import metadata

from turnetl import wiring
from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.settings import Settings

_ANY_GROUP, _ANY_KIND = GroupId(""), ""


def worker_profile(settings: Settings, options: RunOptions) -> Mapping[str, str]:
    """Return what must be equal in all processes of a run, by names for a message. No secrets.

    Raises:
        BadUsage: the settings are not complete, such as a model without a key.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    filters, recipe = wiring.filters(run_settings), wiring.recipe(run_settings)
    parts = () if recipe is None else recipe(_ANY_GROUP, _ANY_KIND)
    return {
        "turnetl": metadata.version("turnetl"),
        "extractor": run_settings.extractor_name,
        "model": f"{run_settings.llm.provider} {run_settings.llm.model or ''}".strip(),
        "recipe": ids.digest(repr(parts)),
        "noise rules": ids.digest(*sorted(filters.active_rules), *filters.recipe(_ANY_GROUP)),
        "redaction of personal data": str(run_settings.redact_pii),
        "lake": str(run_settings.lake),
    }


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return what differs, as `extractor (structural instead of llm)`; digests are not shown."""
    return [
        name if name in ("recipe", "noise rules") else f"{name} ({found[name]} instead of {value})"
        for name, value in expected.items()
        if found[name] != value
    ]
