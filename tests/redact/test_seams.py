"""A secret that is cut in two by the end of a content block."""

import re

import pytest

from tests.redact.canaries import CAPITALS, drawn
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()


@pytest.mark.parametrize("joint", ["\n\n", "\n"])
@pytest.mark.parametrize("cut", [12, 16, 20, 28])
@pytest.mark.parametrize(
    ("before", "secret"),
    [
        ("use ", "ghp_" + drawn(36)),
        ("", "sk-proj-" + drawn(48)),
        ("API_KEY=", drawn(40)),
        ("Authorization: Bearer ", drawn(40)),
        ('{"password": "', drawn(40)),
        ("?key=", "AIza" + drawn(35)),
        ("git push https://x:", drawn(40)),
    ],
    # Not the random secrets: every process must collect the same ids.
    ids=["GitHub", "OpenAI", "environment", "bearer", "JSON", "Google", "address"],
)
def test_both_halves_are_cut_out(before: str, secret: str, cut: int, joint: str) -> None:
    end = "@github.com/a" if "://" in before else '" for it'
    text = f"First.{joint}{before}{secret[:cut]}{joint}{secret[cut:]}{end}{joint}Last words."
    (clean,), _ = REDACTOR.redact([text])
    for half in (secret[:cut], secret[cut:]):
        assert not any(half[at : at + 8] in clean for at in range(len(half) - 7))
    assert clean.startswith("First.")
    assert clean.endswith("Last words.")
    assert REDACTOR.redact([clean]) == ([clean], [0])


def test_a_short_token_is_cut_out_as_well() -> None:
    secret = "AKIA" + drawn(16, CAPITALS)
    (clean,), (count,) = REDACTOR.redact([f"id\n\n{secret[:10]}\n\n{secret[10:]}\n\nend"])
    assert re.fullmatch(r"id\n\n\[REDACTED:aws-access-key-id:[0-9a-f]{4}\]\n\nend", clean)
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
def test_lines_that_only_stand_below_each_other_stay(text: str) -> None:
    assert REDACTOR.redact([text]) == ([text], [0])


def test_many_seams_take_no_long_time() -> None:
    text = "a1B2c3D4e5F6\n\n" * 20_000
    assert REDACTOR.redact([text]) == ([text], [0])


def test_each_line_of_settings_keeps_its_name() -> None:
    names = ["API_KEY", "DB_PASSWORD", "JWT_SECRET", "GITHUB_TOKEN"]
    for line in ("{}={}", "{}: {}", 'export {}="{}"'):
        text = "\n".join(line.format(name, drawn(24)) for name in names)
        (clean,), (count,) = REDACTOR.redact([text])
        assert count == len(names)
        assert all(name in clean for name in names)
