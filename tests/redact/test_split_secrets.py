"""Secrets that are split in two by the end of a content block."""

import re

import pytest

from tests.redact.canaries import CAPITALS, fresh, without_placeholders
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
        assert not any(half[i : i + 8] in without_placeholders(clean) for i in range(len(half) - 7))
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


@pytest.mark.parametrize("line", range(1, 11))
@pytest.mark.parametrize("column", [0, 5, 30, 50])
def test_a_key_is_redacted_if_it_starts_in_one_message_and_ends_in_another(
    line: int, column: int
) -> None:
    lines = [fresh(64) for _ in range(12)]
    text = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"))
    middle = text.index(lines[line]) + column
    clean = "".join(REDACTOR.redact([f"See {text[:middle]}", f"{text[middle:]}\nDone."]).texts)
    left = [part for part in re.split(r"[^A-Za-z0-9+/=]+", clean) if part in text]
    assert not any(len(part) > len("PRIVATE") for part in left)
    assert clean.endswith("Done.")


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ('config = {"password": "', "hunter-and-gatherer", '"}'),
        ("const dbPassword = '", "Tulip2024", "';"),
        ('DB_PASSWORD="', "84629175", '"'),
    ],
    ids=["JSON", "code", "environment"],
)
@pytest.mark.parametrize("length", [0, 1, 4, 7])
def test_a_chosen_password_in_quotes_is_redacted_if_a_block_ends_in_it(
    before: str, secret: str, after: str, length: int
) -> None:
    text = f"{before}{secret[:length]}\n\n{secret[length:]}{after}"
    (clean,), (count,) = REDACTOR.redact([text])
    assert count == 1
    assert re.fullmatch(
        rf"{re.escape(before)}\[REDACTED:[a-z-]+:[0-9a-f]{{16}}\]{re.escape(after)}", clean
    )


def test_a_value_is_redacted_if_its_name_ends_the_block_before() -> None:
    (clean,), (count,) = REDACTOR.redact(["Set DB_PASSWORD=\n\nTulip-2024\nand go on"])
    assert count == 1
    assert re.fullmatch(r"Set DB_PASSWORD=\n\n\[REDACTED:password:[0-9a-f]{16}\]\nand go on", clean)


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=\n\nDB_HOST=db2.internal",
        "Password:\n\n## Step 2",
        'The field "password": "\n\nmust be set" is wrong',
        "password = ''\n\nuser = 'kim'",
    ],
)
def test_a_name_without_a_value_at_the_end_of_a_block_stays(text: str) -> None:
    assert REDACTOR.redact([text]) == ([text], [0])


@pytest.mark.parametrize("end", ["\\\n", "\\\r\n", "\\\\\\n"], ids=["line", "CRLF", "JSON"])
@pytest.mark.parametrize(
    "command",
    [
        "gpg --batch --passphrase{}tulips -d a.gpg",
        "mysql -u root{}-ptulips shop",
        "curl -u{}kim:tulips https://x.io",
    ],
)
def test_a_command_on_several_lines_is_read_as_one(command: str, end: str) -> None:
    (clean,), (count,) = REDACTOR.redact([command.replace("{}", f" {end}    ")])
    assert count == 1
    assert "tulips" not in clean
