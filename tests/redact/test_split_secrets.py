"""Secrets that are split in two by the end of a content block."""

import re

import pytest

from tests.redact.canaries import CAPITALS, fresh
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()


@pytest.mark.parametrize("newlines", ["\n\n", "\n"])
@pytest.mark.parametrize("length", [12, 16, 20, 28])
@pytest.mark.parametrize(
    ("before", "secret"),
    [
        ("use ", "ghp_" + fresh(36)),
        ("", "sk-proj-" + fresh(48)),
        ("API_KEY=", fresh(40)),
        ("Authorization: Bearer ", fresh(40)),
        ('{"password": "', fresh(40)),
        ("?key=", "AIza" + fresh(35)),
        ("git push https://x:", fresh(40)),
    ],
    # Not the random secrets: every process must collect the same ids.
    ids=["GitHub", "OpenAI", "environment", "bearer", "JSON", "Google", "address"],
)
def test_both_halves_are_redacted(before: str, secret: str, length: int, newlines: str) -> None:
    end = "@github.com/a" if "://" in before else '" for it'
    first, second = secret[:length], secret[length:]
    blocks = ["First.", f"{before}{first}", f"{second}{end}", "Last words."]
    text = newlines.join(blocks)
    (clean,), _ = REDACTOR.redact([text])
    for half in (first, second):
        assert not any(half[i : i + 8] in clean for i in range(len(half) - 7))
    assert clean.startswith("First.")
    assert clean.endswith("Last words.")
    assert REDACTOR.redact([clean]) == ([clean], [0])


def test_a_short_token_is_redacted_too() -> None:
    secret = "AKIA" + fresh(16, CAPITALS)
    (clean,), (count,) = REDACTOR.redact([f"id\n\n{secret[:10]}\n\n{secret[10:]}\n\nend"])
    assert re.fullmatch(r"id\n\n\[REDACTED:aws-access-key-id:[0-9a-f]{16}\]\n\nend", clean)
    assert count == 1


@pytest.mark.parametrize(
    "text",
    [
        "# Token\n\nInstallation\n\nPrerequisites\n\nConfiguration2",
        "a token of Version2Beta\n\nConfiguration of all",
        "\n".join(f"3f2a9c1b8e7d6f5a4b3c2d1e0f9a8b7c6d5e4f{n:02}" for n in range(30)),
        "secret\n\n550e8400-e29b-41d4-a716-446655440000\n550e8400-e29b-41d4-a716-446655440001",
        "node_modules\ntsconfig\npackage-lock\nsrc_index_v2\nREADME_2024",
        "getUserToken2\n\nsetUserToken3",
        "toolu_01A2b3C4d5E6f7G8h9I0j1K2\n\ntoolu_01Z9y8X7w6V5u4T3s2R1q0P9",
    ],
)
def test_consecutive_lines_that_are_not_halves_stay(text: str) -> None:
    assert REDACTOR.redact([text]) == ([text], [0])


def test_many_splits_do_not_take_long() -> None:
    text = "a1B2c3D4e5F6\n\n" * 20_000
    assert REDACTOR.redact([text]) == ([text], [0])


def test_each_line_of_settings_keeps_its_name() -> None:
    names = ["API_KEY", "DB_PASSWORD", "JWT_SECRET", "GITHUB_TOKEN"]
    for line in ("{}={}", "{}: {}", 'export {}="{}"'):
        text = "\n".join(line.format(name, fresh(24)) for name in names)
        (clean,), (count,) = REDACTOR.redact([text])
        assert count == len(names)
        assert all(name in clean for name in names)
