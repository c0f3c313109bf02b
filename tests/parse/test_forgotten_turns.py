"""Archives that are read again after some of their turns were forgotten."""

from pathlib import Path

from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.base.model import SessionId
from turnetl.lake import Lake
from turnetl.lake.forgotten import NOTHING, write_forgotten

ROW = (
    '{"type": "user", "sessionId": "%s", "uuid": "%s", "timestamp": "2026-01-05T09:00:00Z", '
    '"message": {"role": "user", "content": "Fix the %s"}}\n'
)


def test_the_turns_that_remain_of_an_archive_lead_back_to_it(tmp_path: Path) -> None:
    archive, lake = tmp_path / "log.jsonl", Lake(tmp_path / "lake")
    archive.write_text(ROW % ("one", "u1", "cart") + ROW % ("two", "u2", "zoo"))
    (tmp_path / "lake").mkdir()
    write_forgotten(lake.files, NOTHING.extended((), [SessionId("two")]))

    parsing.parse_archives([archive], lake, redactor=NoRedactor())

    (file,) = lake.turn_files()
    (turn,) = lake.turns(file.metadata.group)
    assert turn.user_text == "Fix the cart"
    assert turn.archive == file.metadata.archive == str(archive)
