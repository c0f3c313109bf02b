"""Lines of private keys whose file is cut, with what tools print before and after each line."""

import json
from collections.abc import Callable, Sequence
from itertools import count

import pytest

from benchmarks.redaction.drawing import draw
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()
PREFIXES: dict[str, Callable[[str, int], str]] = {
    "nothing": lambda line, _: line,
    "grep": lambda line, number: f"deploy/keys/server.pem:{number}:{line}",
    "grep with context": lambda line, number: f"deploy/keys/server.pem-{number}-{line}",
    "docker compose": lambda line, _: f"web_1  | {line}",
    "a time": lambda line, _: f"2026-01-02T03:04:05.123Z {line}",
    "log4j": lambda line, _: f"2026-01-02 03:04:05,123 INFO  [main] com.acme.KeyLoader - {line}",
    "a diff": lambda line, _: f"+{line}",
    "a quotation": lambda line, _: f"> {line}",
    "numbers": lambda line, number: f"{number:6}→{line}",
    "cat -n": lambda line, number: f"{number:6}\t{line}",
    "a table": lambda line, number: f"| {number} | {line} |",
    "Java": lambda line, _: f'    "{line}\\n" +',
    "JavaScript": lambda line, _: f"  '{line}',",
    "git blame": lambda line, number: f"3f2a1b9c (Kim 2026-01-02 10:11:12 +0100 {number:3}) {line}",
    "a log in JSON": lambda line, _: json.dumps({"time": "2026-01-02T03:04:05Z", "msg": line}),
}
JOINS = ["\n", "\r\n", "\\n", "%0A", "\\u000a"]
KINDS = {
    "RSA PRIVATE KEY": ("MIIEpAIBAAKCAQEA{b48}", "{b64}"),
    "PRIVATE KEY": ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{b32}", "{b64}"),
    "OPENSSH PRIVATE KEY": ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA{b38}", "{b70}"),
    "PGP PRIVATE KEY BLOCK": ("lQdGBGU{b57}", "{b64}"),
}


BY_CHANCE = 1
"""Texts of which drawn lines may read as something else: one of 5,000 does. A line that starts as a
key does is in three of them."""


def cuts(begin: str, lines: list[str], end: str) -> list[list[str]]:
    """Return what is left of a file: its first lines, its last ones, and some without a label."""
    return [
        [begin, *lines[:4]],
        [begin, lines[0]],
        lines[:5],
        [*lines[-4:], end],
        [begin, lines[0], "ready", lines[1], "listening on 8080", lines[2]],
        lines[2:7],
    ]


@pytest.mark.full
@pytest.mark.parametrize("label", KINDS)
def test_no_line_of_a_cut_key_is_left_whatever_precedes_it(label: str) -> None:
    first, other = KINDS[label]
    joins = iter(JOINS * 100)
    found = []
    for prefix in PREFIXES.values():
        lines = [draw(first), *(draw(other) for _ in range(8)), draw("{b30}==")]
        for cut in cuts(f"-----BEGIN {label}-----", lines, f"-----END {label}-----"):
            text = next(joins).join(map(prefix, cut, count(1)))
            found += [text] if left(lines, text) else []
    assert found[BY_CHANCE:] == []


def left(lines: Sequence[str], text: str) -> list[str]:
    """Return the lines of which twenty characters are in the redacted text."""
    (clean,), _ = REDACTOR.redact([text])
    return [
        line
        for line in lines
        if any(line[start : start + 20] in clean for start in range(len(line) - 19))
    ]


@pytest.mark.parametrize("label", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK"])
def test_certificates_and_public_keys_stay_whatever_precedes_their_lines(label: str) -> None:
    cut = []
    for prefix in PREFIXES.values():
        lines = ["MIIDdzCCAl+gAwIBAgIE" + draw("{b44}"), *(draw("{b64}") for _ in range(8))]
        for part in (
            [f"-----BEGIN {label}-----", *lines],
            [f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"],
            [*lines[3:], f"-----END {label}-----"],
        ):
            text = "\n".join(map(prefix, part, count(1)))
            cut += [text] if REDACTOR.redact([text]) != ([text], [0]) else []
    assert cut[3 * BY_CHANCE :] == []


def test_keys_in_one_line_in_base64_and_in_json_are_cut() -> None:
    body = " ".join(draw("{b64}") for _ in range(4))
    pem = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + draw("{b200}")
    jwk = draw("{w43}")
    texts = [f"-----BEGIN PRIVATE KEY----- {body}", f"key: {pem}", f"{{'kty': 'EC', 'd': '{jwk}'}}"]
    assert [
        left(lines, text) for lines, text in zip((body.split(), [pem], [jwk]), texts, strict=True)
    ] == [[], [], []]


def test_other_data_in_lines_stays() -> None:
    for width in (64, 76):
        image = ["iVBORw0KGgoAAAANSUhEUgAA" + draw(f"{{b{width - 24}}}")]
        image += [draw(f"{{b{width}}}") for _ in range(6)]
        text = "\n".join(image)
        assert REDACTOR.redact([text]) == ([text], [0])
    digests = "\n".join(f"{draw('{h64}')}  file{number}.txt" for number in range(8))
    assert REDACTOR.redact([digests]) == ([digests], [0])
