"""Archives in encodings of Windows: each is read, and its turns lead back to their lines."""

from pathlib import Path

import pytest

from tests.parse.parse_runs import one_turn, run
from turnetl.base.model import GroupId
from turnetl.lake import Lake
from turnetl.parsing.archive_lines import read_archive_lines
from turnetl.parsing.sources import to_utf8

PROMPT = "Prüfe die Größe."
TEXT = one_turn("A first prompt.", "p0") + one_turn(PROMPT, "p1").replace("\\u00fc", "ü").replace(
    "\\u00f6", "ö"
).replace("\\u00df", "ß")
ENCODED = {
    "UTF-16 with a mark": TEXT.encode("utf-16"),
    "UTF-16 BE with a mark": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "UTF-16 LE": TEXT.encode("utf-16-le"),
    "UTF-16 BE": TEXT.encode("utf-16-be"),
    "UTF-32": TEXT.encode("utf-32"),
    "Windows-1252": TEXT.encode("cp1252"),
    "UTF-8 with a mark": TEXT.encode("utf-8-sig"),
    "Ctrl-Z at the end": TEXT.encode() + b"\x1a",
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "UTF-16 with CRLF, cut in a character": TEXT.replace("\n", "\r\n").encode("utf-16") + b"{",
}


@pytest.mark.parametrize("name", ENCODED)
def test_an_archive_in_any_encoding_is_read_and_leads_back_to_its_lines(
    name: str, tmp_path: Path
) -> None:
    path, lake = tmp_path / "session.jsonl", Lake(tmp_path / "lake")
    path.write_bytes(ENCODED[name])
    run(lake, path)
    first, second = lake.scan_turns(GroupId("shop")).collect().rows(named=True)
    assert (first["user_text"], second["user_text"]) == ("A first prompt.", PROMPT)
    assert (second["first_line"], second["last_line"]) == (3, 4)
    assert PROMPT in read_archive_lines(path, 3, 3)[0]


def test_damaged_utf8_stays_as_it_is() -> None:
    smile = "🙂".encode()
    for data in (
        b"a" + smile[:2] + b"b",
        smile[:3] + b"c" + smile[:2] + b"d" + smile[1:],
        "ü".encode() + b"\xfc \xfc \xfc",
        b"\xfc",
        b"",
        b"{",
        b"{}",
        b"\0\0\0\0{}",
    ):
        assert to_utf8(data) == data
