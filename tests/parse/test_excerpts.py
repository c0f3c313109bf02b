"""What is kept of long outcomes."""

import pytest

from turnetl.formats.base import RawToolCall
from turnetl.parse.excerpts import HEAD, TAIL, result

DOTS = "dot dot dot\n" * 2000


def kept(text: str, name: str = "Bash") -> str:
    tool = RawToolCall(name, "make")
    tool.result = text
    return result(tool)


def test_a_short_outcome_is_kept_whole() -> None:
    assert kept("x" * (HEAD + TAIL)) == "x" * (HEAD + TAIL)


def test_of_a_long_one_head_and_tail_are_kept_and_what_is_left_out_is_counted() -> None:
    text = "a" * HEAD + "b" * 7 + "c" * TAIL
    assert kept(text) == "a" * HEAD + " [... 7 characters left out ...] " + "c" * TAIL


def test_lines_that_tell_of_failures_are_kept_wherever_they_stand() -> None:
    failure = "--- FAIL: TestTotal (0.1s)\n    total_test.go:17: want 3\nE   assert 3 == 4\n"
    told = kept(f"{DOTS}{failure}done\n{DOTS}")
    assert f" characters left out ...] \n{failure}" in told
    assert "done" not in told


def test_a_line_that_repeats_is_kept_once_and_a_long_one_in_part() -> None:
    told = kept(DOTS + "Error: full\n" * 9 + f"panic: {'x' * 5000}\n" + DOTS)
    assert told.count("Error: full") == 1
    assert "panic: xxx" in told
    assert len(told) < HEAD + TAIL + 400


def test_there_is_room_for_some_failures_only() -> None:
    many = "".join(f"{n} {sign} {'x' * 200}\n" for sign in ("FAIL", "Error:") for n in range(99))
    assert len(kept(DOTS + many + DOTS)) < HEAD + TAIL + 1300


@pytest.mark.parametrize("name", ["Read", "Grep", "read_file"])
def test_a_file_that_speaks_of_failures_is_no_failure(name: str) -> None:
    assert "raise Error: x" not in kept(f"{DOTS}raise Error: x\n{DOTS}", name)


def test_one_line_of_megabytes_is_cut() -> None:
    assert len(kept("Error: " * 1_000_000)) < HEAD + TAIL + 400
