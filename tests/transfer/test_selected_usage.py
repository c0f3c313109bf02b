"""The tokens of subagents in an export of a part of the turns."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.archives import conversation, row, write_archive
from tests.cli.provider_setup import SESSION_START
from tests.fakes.redactors import NoRedactor
from tests.transfer.lakes import imported
from turnetl.base.model import GroupId, SubagentUsage
from turnetl.index.conditions import Selection
from turnetl.lake import Lake
from turnetl.parsing import parse_archives
from turnetl.redact.port import RedactedTexts
from turnetl.transfer.content import ExportContent
from turnetl.transfer.lake_import import import_lake
from turnetl.transfer.parquet import ParquetExport, to_parquet
from turnetl.transfer.run_export import condition
from turnetl.transfer.transfer_report import ImportOutcome

SHOP = GroupId("shop")
HOUR = timedelta(hours=1)


def subagent(name: str, minutes: int | None, tokens: int, *, session: str = "s1") -> str:
    """Return a row of a subagent, at this time after the first turn of its session."""
    at = None if minutes is None else SESSION_START + timedelta(minutes=minutes)
    message = {"role": "assistant", "model": "opus", "content": "Read.", "id": f"m-{name}"}
    used = message | {"usage": {"input_tokens": tokens, "output_tokens": 0}}
    ids = {"sessionId": session, "agentId": name, "isSidechain": True}
    return row("assistant", "", f"{session}-{name}", at, message=used, **ids)


def turn(prompt: str, hours: int, session: str = "s1") -> list[str]:
    at = SESSION_START + hours * HOUR
    return [
        text.replace(f"{session}-", f"{session}-{hours}-")
        for text in conversation(prompt, session=session, at=at)
    ]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return two sessions of two turns, an hour apart, with subagents in both and in a file."""
    lake = Lake(tmp_path / "lake")
    folder = tmp_path / "archives"
    paths = [
        write_archive(
            folder / f"{session}.jsonl",
            [
                *turn("Add a cart", 0, session),
                subagent("first", 1, 10, session=session),
                *turn("Test it", 1, session),
                subagent("second", 61, 20, session=session),
            ],
        )
        for session in ("s1", "s2")
    ]
    own = folder / "s1" / "subagents"
    paths += [
        write_archive(own / "agent-early.jsonl", [subagent("early", 5, 100)]),
        write_archive(own / "agent-late.jsonl", [subagent("late", 65, 200)]),
    ]
    parse_archives(paths, lake, redactor=NoRedactor())
    return lake


def exported(lake: Lake, selection: Selection) -> ParquetExport:
    return to_parquet(lake, [SHOP], condition(selection, None), ExportContent(()), NoRedactor())


def written(export: ParquetExport, folder: Path) -> Lake:
    for name, data in export.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Lake(folder)


def usage(lake: Lake) -> list[SubagentUsage]:
    files = lake.turn_files()
    return [one for file in files for one in file.metadata.subagent_usage or ()]


def tokens(lake: Lake) -> list[int]:
    return sorted(one.input_tokens for one in usage(lake))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [10, 10, 20, 20, 100, 200]),
        (Selection(session="s1"), [10, 20, 100, 200]),
        (Selection(session="s2"), [10, 20]),
        (Selection(until=SESSION_START + HOUR), [10, 10, 100]),
        (Selection(since=SESSION_START + HOUR), [20, 20, 200]),
        (Selection(session="s1", since=SESSION_START + HOUR), [20, 200]),
        (Selection(session="other"), []),
    ],
    ids=str,
)
def test_an_export_has_the_tokens_of_the_subagents_of_its_turns(
    selection: Selection, expected: Sequence[int], lake: Lake, tmp_path: Path
) -> None:
    export = exported(lake, selection)
    assert tokens(written(export, tmp_path / "out")) == expected
    assert export.subagents_left_out == 0


def test_exports_of_all_parts_have_all_tokens_once_after_their_import(
    lake: Lake, tmp_path: Path
) -> None:
    new = Lake(tmp_path / "new")
    noon = SESSION_START + HOUR
    for number, part in enumerate([Selection(until=noon), Selection(since=noon)]):
        imported(written(exported(lake, part), tmp_path / str(number)), new)
    assert sorted(usage(new), key=repr) == sorted(usage(lake), key=repr)
    assert new.count_turns(SHOP) == lake.count_turns(SHOP)


def test_an_import_of_a_part_keeps_the_tokens_of_an_import_of_all(
    lake: Lake, tmp_path: Path
) -> None:
    new = Lake(tmp_path / "new")
    imported(written(exported(lake, Selection()), tmp_path / "all"), new)
    before = usage(new)
    part = exported(lake, Selection(until=SESSION_START + HOUR))
    report = imported(written(part, tmp_path / "part"), new)
    assert usage(new) == before
    assert {file.outcome for file in report.files} == {ImportOutcome.UNCHANGED}


class CountingRedactor(NoRedactor):
    """Counts its scans."""

    def __init__(self) -> None:
        self.scans = 0

    def redact_many(self, archives: Sequence[list[str]]) -> list[RedactedTexts]:
        self.scans += 1
        return super().redact_many(archives)


def test_many_files_are_redacted_with_few_scans(lake: Lake, tmp_path: Path) -> None:
    """The redactor runs once each for models, texts, paths of turns and paths of metadata."""
    redactor = CountingRedactor()
    export = to_parquet(lake, [SHOP], None, ExportContent(()), redactor)
    assert redactor.scans == 4
    source, new = written(export, tmp_path / "out"), Lake(tmp_path / "new")
    import_lake(source, new, "laptop", redactor=lambda: redactor)
    assert redactor.scans == 8


def test_subagents_whose_turn_is_not_known_are_left_out_and_counted(
    lake: Lake, tmp_path: Path
) -> None:
    rows = [subagent("x", None, 1000), subagent("y", 5, 1000, session="gone")]
    path = write_archive(tmp_path / "archives" / "agent-x.jsonl", rows)
    parse_archives([path], lake, redactor=NoRedactor())
    export = exported(lake, Selection(until=SESSION_START + HOUR))
    assert export.subagents_left_out == 2
    assert 1000 not in tokens(written(export, tmp_path / "out"))
    assert exported(lake, Selection()).subagents_left_out == 0
    # All turns of its session are selected.
    assert exported(lake, Selection(session="s1")).subagents_left_out == 1
