"""The report of `parse`, and of its dry run."""

from tests.printed import printed as printed_view
from turnetl.backfill_report import BackfillReport
from turnetl.base.model import GroupId
from turnetl.episodes.filter_report import FilterReport
from turnetl.formats.port import ParseCounts
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.parsing import ArchiveReport, Outcome, ParseReport
from turnetl.parsing.grouping import NameCollision
from turnetl.views import backfill, parse
from turnetl.views.markdown import markdown


def archive(name: str, group: str | None, folder: str | None = None) -> ArchiveReport:
    outcome, format_name = (Outcome.NEW, "codex") if group else (Outcome.UNKNOWN, None)
    group_id = GroupId(group) if group else None
    return ArchiveReport(name, outcome, format_name, group_id, ParseCounts(turns=2), None, folder)


def printed(*archives: ArchiveReport) -> str:
    return printed_view(parse.view(ParseReport(archives, dry_run=True)), 120)


def test_a_group_is_printed_with_the_folders_of_its_archives() -> None:
    folders = [f"/home/dev/{name}/shop" for name in "abcde"]
    text = printed(*(archive(folder, "shop", folder) for folder in folders), archive("x", None))
    assert "6 archives: 5 new, 1 unknown" in text
    assert [folder for folder in folders if folder in text] == folders[:3]
    assert "and 2 more" in text
    assert "10" in text


def test_a_folder_name_that_looks_like_markup_is_printed_as_it_is() -> None:
    assert "/home/dev/[bold]shop" in printed(archive("x", "shop", "/home/dev/[bold]shop"))


def test_one_line_and_one_turn_are_in_the_singular() -> None:
    counts = ParseCounts(lines=1, used=1, turns=1)
    read = ArchiveReport("a", Outcome.NEW, "codex", GroupId("shop"), counts)
    assert parse.view(ParseReport((read,)))[1] == "1 line: 1 used for 1 turn"


def test_a_note_about_groups_is_no_archive_that_was_not_read() -> None:
    collision = NameCollision(GroupId("shop"), ("/home/dev/a/shop", "/home/dev/b/shop"))
    parsed = ParseReport((archive("x", "shop"),), name_collisions=(collision,))
    report = BackfillReport(parsed, FilterReport(()), IngestReport(None, ()))
    page = markdown(backfill.view(report))
    assert "Archives that were not read" not in page
    assert "## Notes\n\n- group `shop` joins 2 folders" in page
