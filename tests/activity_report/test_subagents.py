"""Tokens of subagents that are in no turn, from the metadata of turns files."""

from dataclasses import replace
from pathlib import Path

from tests.activity_report.rows import rows
from tests.builders import GROUP, START
from turnetl.activity_report.usage import subagent_rows, used_messages
from turnetl.base.model import GroupId, MessageCounts, SubagentUsage
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.lake import ArchiveMetadata, TurnFile
from turnetl.lake.versions import TOKENS

USAGE = SubagentUsage("d1", "opus", START, 10, 5)
METADATA = ArchiveMetadata(
    archive="/home/dev/s1.jsonl",
    size=1,
    mtime_ns=1,
    sha256="0",
    format="claude_code",
    reader_version=1,
    redactor_version="1",
    group=GROUP,
    group_is_explicit=False,
    counts={"turns": 0, "sidechain_rows": 2},
)


def file(*usage: SubagentUsage, group: GroupId = GROUP) -> TurnFile:
    return TurnFile(Path("a.parquet"), replace(METADATA, group=group, subagent_usage=tuple(usage)))


def used(*files: TurnFile) -> list[tuple[object, ...]]:
    names = ("group_id", "model", "input_tokens", "output_tokens")
    return used_messages(rows(), subagent_rows(files)).select(names).rows()


def test_a_message_in_several_archives_counts_once_with_the_greatest_counts() -> None:
    first, second = MessageCounts("m1", 10, 0, 7, 5, None), MessageCounts("m2", 1, 2, 3, 4, 5)
    part = replace(USAGE, messages=(first._replace(output=1),))
    other = replace(USAGE, messages=(first._replace(input=9), second))
    found = used_messages(rows(), subagent_rows([file(part), file(other)]))
    assert found.select(TOKEN_COUNTS).sum().rows() == [(11, 2, 10, 9, 5)]


def test_a_subagent_without_messages_counts_once_with_most_tokens() -> None:
    part, all_of_it = USAGE, replace(USAGE, input_tokens=30)
    assert used(file(part), file(all_of_it), file(part)) == [(GROUP, "opus", 30, 5)]


def test_other_subagents_models_days_and_groups_count_too() -> None:
    others = (
        replace(USAGE, subagent="d2"),
        replace(USAGE, model=None),
        replace(USAGE, started_at=None),
        replace(USAGE, started_at=START.replace(year=2027)),
    )
    assert len(used(file(USAGE, *others), file(USAGE, group=GroupId("till")))) == 6


def test_without_subagents_there_are_no_rows() -> None:
    assert used(TurnFile(Path("a.parquet"), METADATA)) == []


def test_an_archive_that_was_read_before_all_tokens_were_recorded_is_counted() -> None:
    old = TurnFile(Path("a.parquet"), METADATA)
    new = TurnFile(Path("a.parquet"), replace(METADATA, tokens=TOKENS))
    assert [one.metadata.is_older for one in (old, new)] == [True, False]
