"""Archives to turn tables to episode tables: no graph and no model is opened."""

from collections.abc import Sequence

from turnetl import episodes, parse, wiring
from turnetl.episodes.rule_examples import RuleExplanation
from turnetl.episodes.rule_examples import explain as explained
from turnetl.lake import Lake
from turnetl.parse.name_collisions import with_joined
from turnetl.progress import Progress, Step, silent
from turnetl.run_options import chosen
from turnetl.settings import Settings


def parse_archives(
    paths: Sequence[str],
    settings: Settings,
    *,
    format_name: str | None = None,
    dry_run: bool = False,
    progress: Progress = silent,
) -> parse.ParseReport:
    """Read archives into turn tables; those that did not change are not opened.

    Args:
        paths: files, folders or globs.
        settings: where the lake is, which groups the turns go to, how many are read side by side.
        format_name: what all of them are read as; None: what each looks like.
        dry_run: write nothing, and say what would be done.
        progress: told after each archive.
    """
    grouping, known = wiring.groups(settings), wiring.named(format_name)
    found = parse.expand(paths)
    report = parse.archives(
        found.archives,
        Lake(settings.lake),
        redactor=wiring.redactor(settings),
        grouping=grouping,
        known=known,
        jobs=wiring.jobs(settings),
        dry_run=dry_run,
        progress=lambda done, total: progress(Step("parse", "archives", done, total)),
    )
    return with_joined(report + parse.ParseReport(not_found=found.problems), grouping)


def filter_turns(
    settings: Settings,
    groups: Sequence[str] = (),
    *,
    one_off: bool = False,
    progress: Progress = silent,
) -> episodes.FilterReport:
    """Mark and render the turns of the groups, of all groups if none is named.

    Args:
        settings: where the lake is, which rules mark, and the template with its patterns.
        groups: as they are or as a project's name.
        one_off: the rules are said for this run alone; the next ingest takes what they make.
        progress: told after each group.
    """
    lake = Lake(settings.lake)
    return episodes.build(
        lake,
        chosen(lake.groups(), groups),
        filters=wiring.filters(settings, one_off=one_off),
        progress=lambda done, total: progress(Step("filter", "groups", done, total)),
    )


def explain(
    settings: Settings,
    rule: str,
    groups: Sequence[str] = (),
    *,
    examples: int = 5,
    progress: Progress = silent,
) -> RuleExplanation:
    """Say what a noise rule marks by itself, on or off, and show some of it. Writes nothing."""
    lake = Lake(settings.lake)
    return explained(
        lake,
        chosen(lake.groups(), groups),
        wiring.rule(settings, rule),
        wiring.filters(settings),
        examples=examples,
        progress=lambda done, total: progress(Step("explain", "groups", done, total)),
    )
