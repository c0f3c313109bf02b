"""Damaged archives: never a traceback, never a line without a count."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import real_archives
from tests.fakes.redactors import NoRedactor
from tests.parse.parse_runs import counts_every_line, one_turn, outcomes, row, run
from tests.scale import scaled
from turnetl import formats, parsing
from turnetl.base.model import GroupId, Turn
from turnetl.base.reason import SkipReason
from turnetl.formats import Format
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

SMALL = Path(__file__).parents[1] / "archives"
SHOP = GroupId("shop")
DEEP = 100_000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def read(lake: Lake, folder: Path, data: str | bytes) -> tuple[parsing.ParseReport, list[Turn]]:
    """Parse an archive with this content; return the report and all turns of the lake."""
    path = folder / "s1.jsonl"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    report = run(lake, path, redactor=SecretRedactor())
    assert counts_every_line(report)
    assert SkipReason.UNEXPECTED_ERROR not in [problem.reason for problem in report.problems]
    return report, [turn for group in lake.groups() for turn in lake.turns(group)]


def only_prompt(lake: Lake, folder: Path, data: str | bytes) -> str:
    report, (turn,) = read(lake, folder, data)
    assert outcomes(report) == ["new"]
    return turn.user_text


def test_an_invalid_line_affects_no_other_line_and_is_counted(lake: Lake, tmp_path: Path) -> None:
    report, turns = read(
        lake, tmp_path, one_turn() + '{"type": "user", oh}\n' + one_turn("Push.", "p1")
    )
    assert [turn.user_text for turn in turns] == ["Mend the cart.", "Push."]
    assert report.read.skipped[SkipReason.INVALID_JSON] == 1
    assert report.problems[0].line == 3


def test_a_truncated_line_in_the_middle_is_invalid(lake: Lake, tmp_path: Path) -> None:
    report, turns = read(lake, tmp_path, one_turn()[:-9] + "\n" + one_turn("Push.", "p1"))
    assert [turn.user_text for turn in turns] == ["Mend the cart.", "Push."]
    assert report.read.skipped[SkipReason.INVALID_JSON] == 1


def test_concatenated_lines_are_read_and_counted(lake: Lake, tmp_path: Path) -> None:
    concatenated = one_turn().replace("}\n", "}") + "\n" + one_turn("Push.", "p1")
    report, turns = read(lake, tmp_path, concatenated)
    assert len(turns) == 2
    assert (report.read.lines, report.read.concatenated_lines, report.problems) == (3, 1, ())


def test_invalid_utf8_becomes_replacement_characters(lake: Lake, tmp_path: Path) -> None:
    data = one_turn("Mend @ cart.").encode().replace(b"@", b"\xff\xc3(")
    assert only_prompt(lake, tmp_path, data) == "Mend \ufffd\ufffd( cart."


def test_a_lone_surrogate_becomes_a_replacement_character_everywhere(
    lake: Lake, tmp_path: Path
) -> None:
    surrogate = "\ud83d"
    result = [
        {"type": "tool_result", "tool_use_id": f"t{surrogate}", "content": f"out {surrogate}"}
    ]
    call = {
        "type": "tool_use",
        "id": f"t{surrogate}",
        "name": f"B{surrogate}",
        "input": {"command": surrogate},
    }
    place = {"cwd": f"/home/dev/shop{surrogate}", "gitBranch": surrogate, "version": surrogate}
    lines = (
        row("user", f"Mend {surrogate}.", f"p{surrogate}", sessionId=f"s{surrogate}", **place)
        + row("assistant", [{"type": "text", "text": surrogate}, call], "a0", **place)
        + row("user", result, "r0", **place)
    )
    report, (turn,) = read(lake, tmp_path, lines)
    assert outcomes(report) == ["new"]
    assert turn.user_text.startswith("Mend ")
    assert surrogate not in repr(turn)


def test_unicode_line_separators_do_not_end_a_line(lake: Lake, tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x0csix"
    line = row("user", text, "p0")
    raw = json.dumps(json.loads(line), ensure_ascii=False) + "\n"
    assert only_prompt(lake, tmp_path, raw) == text


def test_windows_line_endings_are_line_endings(lake: Lake, tmp_path: Path) -> None:
    report, turns = read(
        lake, tmp_path, (one_turn() + one_turn("Push.", "p1")).replace("\n", "\r\n")
    )
    assert [turn.assistant_text for turn in turns] == ["Mended.", "Mended."]
    assert (report.read.lines, report.read.invalid_lines, report.problems) == (4, 0, ())


def test_a_byte_order_mark_is_skipped(lake: Lake, tmp_path: Path) -> None:
    assert only_prompt(lake, tmp_path, b"\xef\xbb\xbf" + one_turn().encode()) == "Mend the cart."


def test_zeros_in_a_text_and_between_lines_do_no_harm(lake: Lake, tmp_path: Path) -> None:
    report, turns = read(
        lake, tmp_path, one_turn("Mend\0 it.") + "\0\0\0\n" + one_turn("Push.", "p1")
    )
    assert [turn.user_text for turn in turns] == ["Mend\0 it.", "Push."]
    assert report.read.lines == 5


def test_the_last_of_two_equal_keys_counts(lake: Lake, tmp_path: Path) -> None:
    data = one_turn().replace('"type": "user"', '"type": "x", "type": "user"')
    assert only_prompt(lake, tmp_path, data) == "Mend the cart."


def test_numbers_as_strings_and_strings_as_numbers_lose_no_turn(lake: Lake, tmp_path: Path) -> None:
    usage = {"id": 7, "usage": {"input_tokens": "12", "output_tokens": 10**30}}
    answer = json.loads(row("assistant", "Mended.", "a0", version=2, gitBranch=None, timestamp=1))
    answer["message"] |= usage
    report, (turn,) = read(lake, tmp_path, row("user", "Mend it.", "p0") + json.dumps(answer))
    assert (turn.user_text, turn.assistant_text) == ("Mend it.", "Mended.")
    assert outcomes(report) == ["new"]


def test_json_with_excessive_nesting_is_an_invalid_line(lake: Lake, tmp_path: Path) -> None:
    deep = "[" * DEEP + "]" * DEEP
    inside = one_turn("Push.", "p1").replace('"Push."', deep, 1)
    report, turns = read(lake, tmp_path, one_turn() + deep + "\n" + '{"a":' * DEEP + "\n" + inside)
    assert turns[0].user_text == "Mend the cart."
    assert report.read.lines == 6


@pytest.mark.parametrize(
    "data", ["", "\n\n  \n", "{", "[", "{}", "[]", "null", '"text"', "\0", "\ufeff", "{" * DEEP]
)
def test_almost_empty_content_is_not_an_archive(lake: Lake, tmp_path: Path, data: str) -> None:
    report, turns = read(lake, tmp_path, data)
    assert outcomes(report)[0] in ("unknown", "unreadable")
    assert turns == []
    assert not lake.root.exists()


@pytest.mark.parametrize("known", formats.FORMATS, ids=lambda known: known.name)
@pytest.mark.parametrize("data", ["{", "[[[", "null\n", '"text"', "\0", "{" * DEEP])
def test_almost_empty_content_is_not_an_archive_in_any_explicit_format(
    lake: Lake, tmp_path: Path, known: Format, data: str
) -> None:
    path = tmp_path / "s1.json"
    path.write_text(data)
    report = run(lake, path, explicit_format=known)
    assert (outcomes(report), [problem.reason for problem in report.problems]) == (
        ["unknown"],
        [SkipReason.WRONG_FORMAT],
    )
    assert not lake.root.exists()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file"
)
def test_an_unreadable_archive_is_reported_and_affects_no_other(lake: Lake, tmp_path: Path) -> None:
    closed = tmp_path / "closed.jsonl"
    closed.write_text(one_turn())
    closed.chmod(0)
    _, turns = read(lake, tmp_path, one_turn())
    assert "check its permissions" in run(lake, closed).problems[0].message
    assert len(turns) == 1


# The peak of the process itself: `getrusage` starts with the peak of its parent process.
LARGE = """
import sys
from pathlib import Path
from tests.parse.parse_runs import one_turn, run
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

path, turns = Path(sys.argv[1], "s1.jsonl"), int(sys.argv[2])
text = "Mend the cart; its key is in src/cart.py. " * (2_500_000 // turns)
with path.open("w") as file:
    for number in range(turns):
        before, after = one_turn(native=f"p{number}").split("Mend the cart.")
        file.writelines((before, text, after))
del text
report = run(Lake(path.parent / "lake"), path, redactor=SecretRedactor())
assert report.read.turns == turns, report
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("turns", [1, 10_000])
def test_a_hundred_megabytes_take_bounded_memory_in_one_line_or_in_many(
    tmp_path: Path, turns: int
) -> None:
    """At most 330 MB plus three times the archive."""
    process = subprocess.run(
        [sys.executable, "-c", LARGE, tmp_path, str(turns)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # noqa: TID251 - for the child
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) < 330 + 3 * 105


@pytest.mark.archives
@real_archives.needs_archives
def test_every_line_of_every_real_archive_is_counted(lake: Lake) -> None:
    paths = parsing.expand([real_archives.ARCHIVES]).archives
    report = run(lake, *paths, redactor=NoRedactor())
    assert counts_every_line(report)
    assert report.outcomes[parsing.Outcome.UNREADABLE] == 0
    for archive in report.archives:
        path = Path(archive.archive)
        # A part of OpenCode's store is read with the other parts of its session.
        if archive.was_read and archive.format != "opencode":
            data = path.read_bytes()
            assert archive.counts.lines == data.count(b"\n") + (not data.endswith(b"\n"))


DAMAGING_BYTES = (
    b"\xff",
    b"\0",
    b"\\ud800",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b"}\n{",
    b"}{",
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 40,
    b'"12"',
    b"[" * 2000,
    b'"',
    b"\\",
    b"{}",
    b"[]",
    b"true",
    b'"9999-12-31T23:59:59-23:59"',
    b'"0001-01-01T00:00:00+23:59"',
)
SAMPLES = {
    known.name: [path for path in sorted((SMALL / known.name).rglob("*")) if path.is_file()]
    for known in formats.FORMATS
}


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """Draw a sample of the format with pieces removed, doubled, moved or replaced."""
    data = bytearray(draw(st.sampled_from(SAMPLES[name])).read_bytes())
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        end = draw(st.integers(at, min(at + 60, len(data))))
        put = st.one_of(
            st.sampled_from(DAMAGING_BYTES), st.binary(max_size=8), st.just(bytes(data[at:end]))
        )
        if draw(st.booleans()):
            # A whole value: from a colon to the next comma.
            at, end = data.find(b":", at) + 1, data.find(b",", at)
        data[at : max(at, end)] = draw(put)
    return bytes(data)


@pytest.mark.parametrize("known", formats.FORMATS, ids=lambda known: known.name)
@settings(max_examples=scaled(60), deadline=None)
@given(st.data())
def test_no_damage_raises_or_loses_a_line_on_the_way_into_the_lake(
    known: Format, data: st.DataObject
) -> None:
    archive = data.draw(damaged(known.name))
    is_explicit = data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as folder:
        path, lake = Path(folder, "damaged.jsonl"), Lake(Path(folder, "lake"))
        path.write_bytes(archive)
        report = run(lake, path, explicit_format=known if is_explicit else None)
        assert counts_every_line(report)
        assert SkipReason.UNEXPECTED_ERROR not in [problem.reason for problem in report.problems]
        assert report.read.turns == sum(len(list(lake.turns(of))) for of in lake.groups())
        if report.archives[0].was_read:
            assert outcomes(run(lake, path)) == ["unchanged"]
