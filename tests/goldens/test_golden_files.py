"""A golden is compared, or written."""

from pathlib import Path

import pytest

from tests.goldens.golden_files import OPTION, GoldenFiles


def failure(files: GoldenFiles, text: str) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        files.check("json/status.json", text)
    return str(failed.value)


def test_a_change_fails_with_the_difference_and_the_option_that_accepts_it(tmp_path: Path) -> None:
    GoldenFiles(tmp_path, rewrite=True).check("json/status.json", "one\ntwo\n")
    files = GoldenFiles(tmp_path, rewrite=False)
    files.check("json/status.json", "one\ntwo\n")
    shown = failure(files, "one\nthree\n")
    assert "-two\n+three" in shown
    assert OPTION in shown


def test_a_long_difference_is_cut_with_the_number_of_its_lines(tmp_path: Path) -> None:
    GoldenFiles(tmp_path, rewrite=True).check("json/status.json", "before\n")
    shown = failure(GoldenFiles(tmp_path, rewrite=False), "after\n" * 1_000)
    assert "more lines" in shown
    assert len(shown.splitlines()) < 150


def test_a_missing_golden_fails_with_the_option_that_writes_it(tmp_path: Path) -> None:
    shown = failure(GoldenFiles(tmp_path, rewrite=False), "one\n")
    assert "there is no golden `json/status.json`" in shown
    assert OPTION in shown
