"""The lines of a turn as its archive has them."""

import gzip
import json
from pathlib import Path

import pytest

from tests.redact.canaries import fresh
from tests.redact.secret_archives import ARCHIVES, SecretSource
from turnetl.base.errors import BadArchive
from turnetl.parsing.archive_lines import read_archive_lines, redact_lines, texts_of_archive
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


def test_what_the_texts_of_the_archive_reveal_is_cut_in_every_string_of_the_lines() -> None:
    password, key = "hunter" + fresh(5), fresh(24)
    texts = [f"mysql --user root --password {password}", f"API_KEY={key}"]
    inner = json.dumps({"cmd": ["mysql", "--password", password], "k": f"a{key[:9]}"})
    lines = [
        json.dumps({"command": ["mysql", "--user", "root", "--password", password]}),
        json.dumps({"arguments": json.dumps({"nested": inner, "key": key})}),
        json.dumps({key: [{"text": f"see\n{key}\tand {password}!"}]}),
        f'  "fragment": "{key[:12]}\\u00{ord(key[12]):02x}{key[13:]}",',
        "no JSON " + key,
    ]
    redacted = redact_lines(lines, SecretRedactor(), texts)
    everything = "".join(redacted)
    assert password not in everything
    assert key not in everything
    assert key[13:] not in everything
    assert [json.loads(line) for line in redacted[:3]]
    assert redacted[0].startswith('{"command": ["mysql", "--user", "root", "--password", "[RED')


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_what_the_tables_cut_is_cut_in_the_lines_of_every_format(name: str, tmp_path: Path) -> None:
    source = SecretSource()
    path = tmp_path / name
    path.write_text(ARCHIVES[name](source), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    clean = "\n".join(redact_lines(lines, SecretRedactor(), texts_of_archive(path)))
    assert [secret for secret in source.secrets if secret in clean] == []
