"""What would be read, as a person sees it."""

from rich.console import Console

from turnetl.formats.base import ParseCounts
from turnetl.model import GroupId
from turnetl.parse import ArchiveReport, Outcome, ParseReport
from turnetl.report import parse


def archive(name: str, group: str | None, folder: str | None = None) -> ArchiveReport:
    outcome, format_name = (Outcome.NEW, "codex") if group else (Outcome.UNKNOWN, None)
    of = GroupId(group) if group else None
    return ArchiveReport(name, outcome, format_name, of, ParseCounts(turns=2), None, folder)


def shown(*archives: ArchiveReport) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(parse.proposed(ParseReport(archives, dry_run=True)))
    return captured.get()


def test_a_group_is_shown_with_the_folders_that_lead_to_it() -> None:
    folders = [f"/home/dev/{name}/shop" for name in "abcde"]
    said = shown(*(archive(folder, "shop", folder) for folder in folders), archive("x", None))
    assert "6 archives: 5 new, 1 unknown" in said
    assert [folder for folder in folders if folder in said] == folders[:3]
    assert "and 2 more" in said
    assert "10" in said


def test_a_folder_is_shown_as_it_is_called() -> None:
    assert "/home/dev/[bold]shop" in shown(archive("x", "shop", "/home/dev/[bold]shop"))
