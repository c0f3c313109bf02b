"""Excerpts of long tool results."""

import pytest

from turnetl.formats.port import RawToolCall
from turnetl.parsing.table import HEAD, TAIL, result_excerpt

DOTS = "dot dot dot\n" * 2000


def excerpt(text: str, name: str = "Bash") -> str:
    return result_excerpt(RawToolCall(name, "make", text))


def test_a_short_result_is_kept_completely() -> None:
    assert excerpt("x" * (HEAD + TAIL)) == "x" * (HEAD + TAIL)


def test_a_long_result_keeps_head_and_tail_and_the_number_of_omitted_characters() -> None:
    text = "a" * HEAD + "b" * 7 + "c" * TAIL
    assert excerpt(text) == "a" * HEAD + " [... 7 characters left out ...] " + "c" * TAIL


def test_lines_that_report_failures_are_kept_wherever_they_are() -> None:
    failure = "--- FAIL: TestTotal (0.1s)\n    total_test.go:17: want 3\nE   assert 3 == 4\n"
    text = excerpt(f"{DOTS}{failure}done\n{DOTS}")
    assert f" characters left out ...] \n{failure}" in text
    assert "done" not in text


@pytest.mark.parametrize(
    "line",
    [
        "test\tRun\t2026-01-02T03:04:05.6789012Z ##[error]the runner has no space",
        "src/cart.go:12:3: total is not used (unused)",
        "src/cart.ts(3,5): error TS2304: Cannot find name 'total'.",
        "error[E0382]: use of moved value\n  --> src/cart.rs:4:5",
        "  3:5  error  'total' is not used  no-unused-vars",
    ],
)
def test_what_tools_print_without_the_word_of_a_failure_is_kept(line: str) -> None:
    assert f"\n{line}\n" in excerpt(f"{DOTS}{line}\n{DOTS}")


def test_a_result_is_cut_between_its_lines() -> None:
    text = excerpt("".join(f"line {number} of the output\n" for number in range(500)))
    lines = [line for line in text.split("\n") if line and "left out" not in line]
    assert all(line.startswith("line ") and line.endswith(" of the output") for line in lines)


def test_a_repeated_line_is_kept_once_and_a_long_one_is_truncated() -> None:
    text = excerpt(DOTS + "Error: full\n" * 9 + f"panic: {'x' * 5000}\n" + DOTS)
    assert text.count("Error: full") == 1
    assert "panic: xxx" in text
    assert len(text) < HEAD + TAIL + 400


def test_the_number_of_failure_lines_is_limited() -> None:
    many = "".join(f"{n} {sign} {'x' * 200}\n" for sign in ("FAIL", "Error:") for n in range(99))
    assert len(excerpt(DOTS + many + DOTS)) < HEAD + TAIL + 1300


@pytest.mark.parametrize("name", ["Read", "Grep", "read_file"])
def test_a_file_that_mentions_failures_is_not_a_failure(name: str) -> None:
    assert "raise Error: x" not in excerpt(f"{DOTS}raise Error: x\n{DOTS}", name)


def test_a_line_of_megabytes_is_truncated() -> None:
    assert len(excerpt("Error: " * 1_000_000)) < HEAD + TAIL + 400
