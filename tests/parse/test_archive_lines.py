"""The lines of a turn as its archive has them."""

import gzip
import json
from pathlib import Path

import pytest

from tests.redact.canaries import fresh
from turnetl.errors import BadArchive
from turnetl.parsing.archive_lines import read_archive_lines, redact_lines
from turnetl.redact import SecretRedactor

LINES = ['{"n": 1}', '{"n": 2}', '{"text": "a\u2028b"}']


@pytest.mark.parametrize("compressed", [False, True])
def test_the_lines_are_those_of_the_decompressed_archive(compressed: bool, tmp_path: Path) -> None:
    data = "".join(f"{line}\n" for line in LINES).encode()
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert read_archive_lines(path, 2, 3) == LINES[1:]


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match=r"gone\.jsonl"):
        read_archive_lines(tmp_path / "gone.jsonl", 1, 2)


def test_an_archive_that_became_shorter_is_not_the_one_of_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    with pytest.raises(BadArchive, match="truncated or replaced"):
        read_archive_lines(path, 1, 9)


def test_secrets_are_removed_from_strings_and_from_lines_that_are_no_json() -> None:
    token = "ghp_" + fresh(36)
    nested = json.dumps({"message": {"content": [{"text": f"use {token}\nhere"}]}, "n": 1})
    lines = ['{"n": 1}', nested, f"not json {token}", json.dumps({token: 1})]
    redacted = redact_lines(lines, SecretRedactor())
    assert redacted[0] == lines[0]
    assert token not in "".join(redacted)
    text = json.loads(redacted[1])["message"]["content"][0]["text"]
    assert text.startswith("use [REDACTED:")
    assert text.endswith("\nhere")


def test_a_line_that_nests_too_deep_is_redacted_as_text() -> None:
    token = "ghp_" + fresh(36)
    (line,) = redact_lines(["[" * 5000 + token], SecretRedactor())
    assert token not in line
