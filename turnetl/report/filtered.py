"""What the filter kept and marked, and what that saves."""

from typing import Any

from rich.table import Table

from turnetl.episodes import FilteredGroup, FilterReport


def table(report: FilterReport) -> Table:
    """One row a group."""
    shown = Table(caption=_caption(report), caption_justify="left")
    shown.add_column("group")
    for name in ("turns", "kept", "copies", "chars before", "after", "tokens"):
        shown.add_column(name, justify="right")
    shown.add_column("marked as noise, by rule")
    for group in report.groups:
        shown.add_row(
            group.group,
            f"{group.turns:,}",
            f"{group.kept:,}",
            f"{group.copies:,}",
            f"{group.chars_before:,}",
            f"{group.chars_after:,}",
            f"{group.tokens:,}",
            "\n".join(f"{noise.turns:,} {noise.rule}" for noise in group.noise) or "-",
        )
    return shown


def as_json(report: FilterReport) -> dict[str, Any]:
    return {
        "turns": report.turns,
        "kept": report.kept,
        "copies": report.copies,
        "chars_before": report.chars_before,
        "chars_after": report.chars_after,
        "tokens": report.tokens,
        "groups": [_group_json(group) for group in report.groups],
    }


def _group_json(group: FilteredGroup) -> dict[str, Any]:
    noise = {marked.rule: {"turns": marked.turns, "chars": marked.chars} for marked in group.noise}
    return {
        "group": group.group,
        "turns": group.turns,
        "kept": group.kept,
        "copies": group.copies,
        "chars_before": group.chars_before,
        "chars_after": group.chars_after,
        "tokens": group.tokens,
        "noise": noise,
        "unchanged": group.skipped,
    }


def _caption(report: FilterReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    if all(group.skipped for group in report.groups):
        return "nothing new"
    return ""
