"""The secret redactor: secrets are removed in any context, and other texts stay."""

import base64
import json
from collections.abc import Callable
from hashlib import sha1, sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES, CHOSEN, fresh, fresh_uuid, nested
from turnetl.redact import SecretRedactor
from turnetl.redact.rules import RULES

ALL_CANARIES = CANARIES | CHOSEN
CONTEXTS: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "in prose": lambda text: f"Bitte nimm das hier (and so on) {text} (and so on) und sag nichts.",
    "in JSON": lambda text: json.dumps({"command": text}, ensure_ascii=False),
    "in JSON in JSON": lambda text: nested({"command": text}),
    "after a line number": lambda text: "     1→" + text.replace("\n", "\n     2→"),
    "in a diff": lambda text: "+" + text.replace("\n", "\n+"),
    "in a long text": lambda text: "é line\n" * 500 + text + "\nü line" * 500,
}

KEY = b"the key of these tests"


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return SecretRedactor(KEY)


@pytest.mark.full
@pytest.mark.parametrize("context", CONTEXTS)
def test_no_canary_is_left(
    subtests: pytest.Subtests, redactor: SecretRedactor, context: str
) -> None:
    drawn = [canary() for canary in ALL_CANARIES.values()]
    clean, counts = redactor.redact(
        [text for _, canary in drawn for text in ("between", CONTEXTS[context](canary))]
    )
    assert {*zip(clean[::2], counts[::2], strict=True)} == {("between", 0)}
    for kind, (secret, _), text, count in zip(
        ALL_CANARIES, drawn, clean[1::2], counts[1::2], strict=True
    ):
        with subtests.test(kind=kind):
            assert secret not in text
            assert "[REDACTED:" in text
            assert count


@pytest.mark.full
def test_redacting_twice_changes_nothing(redactor: SecretRedactor) -> None:
    drawn = [canary()[1] for canary in ALL_CANARIES.values()]
    texts = [context(text) for text in drawn for context in CONTEXTS.values()]
    once, _ = redactor.redact(texts)
    again, counts = redactor.redact(once)
    assert again == once
    assert counts == [0] * len(texts)


def test_a_secret_has_the_same_placeholder_everywhere(redactor: SecretRedactor) -> None:
    token = "hf_" + fresh(34)
    first, _ = redactor.redact([f"HF_TOKEN {token}"])
    second, _ = SecretRedactor(KEY).redact(["other", f"login {token} twice: {token}"])
    name = first[0].removeprefix("HF_TOKEN ")
    assert second[1] == f"login {name} twice: {name}"


def test_another_key_gives_a_secret_another_placeholder() -> None:
    tokens = ["hf_" + fresh(34) for _ in range(4)]
    assert SecretRedactor(b"a").redact(tokens)[0] != SecretRedactor(b"b").redact(tokens)[0]


def test_a_secret_that_one_text_reveals_is_redacted_in_the_others(
    redactor: SecretRedactor,
) -> None:
    secret = fresh(20)
    clean, counts = redactor.redact([f"I typed {secret} here", f'api_key = "{secret}"'])
    assert secret not in "".join(clean)
    assert counts == [1, 1]


def test_no_secret_is_composed_of_two_texts(redactor: SecretRedactor) -> None:
    token = "ghp_" + fresh(36)
    texts = [
        "password =",
        f'"{fresh(14)}"',
        token[:12],
        token[12:],
        "-----BEGIN PRIVATE KEY-----",
    ]
    assert redactor.redact(texts) == (texts, [0] * len(texts))


def test_a_key_split_over_two_texts_does_not_affect_the_text_between(
    redactor: SecretRedactor,
) -> None:
    texts = [
        "-----BEGIN PRIVATE KEY-----\n" + fresh(64),
        "quite another text",
        fresh(64) + "\n-----END PRIVATE KEY-----",
    ]
    clean, counts = redactor.redact(texts)
    assert clean[1] == texts[1]
    assert counts[0] == counts[2] == 1


def test_a_secret_in_base64_is_redacted(redactor: SecretRedactor) -> None:
    inside = base64.b64encode(f"token ghp_{fresh(36)} end".encode()).decode()
    clean, _ = redactor.redact([f"echo {inside} | base64 -d"])
    assert inside not in clean[0]


@pytest.mark.parametrize(
    "text",
    [
        f"commit {sha1(b'x', usedforsecurity=False).hexdigest()}",
        f"sha256:{sha256(b'x').hexdigest()}",
        pytest.param(f'{{"promptId": "{fresh_uuid()}", "uuid": "{fresh_uuid()}"}}', id="UUIDs"),
        pytest.param("46045806-8024-4640-939a-098c84a8b40a", id="UUID that begins like a card"),
        f"requirements==1.0 --hash=sha256:{sha256(b'y').hexdigest()}",
        f"cache key: {sha1(b'k', usedforsecurity=False).hexdigest()}",
        "apiKey: PostgresAPIKey,",
        "token = getToken2FA(user)",
        'password: "${DB_PASSWORD}"',
        "const token = process.env.GITHUB_TOKEN2",
        "self.token_count2 = token_count1 + 4096",
        "docker run -u 1000:1000 image",
        "http://localhost:8080/a@b",
        'type="password" name="secret"',
        "sk-circle-fade-dot-animation-delay",
        "Authorization: Bearer <token>",
        "-----BEGIN PRIVATE KEY----- is how such a file begins",
        "-----BEGIN CERTIFICATE-----\n" + "QUJD" * 16 + "\n-----END CERTIFICATE-----",
        "\ud800 half a character",
        "",
    ],
)
def test_values_that_are_not_secrets_stay(redactor: SecretRedactor, text: str) -> None:
    assert redactor.redact([text, text]) == ([text, text], [0, 0])


@given(st.lists(st.text(st.characters(categories=["L", "Z", "Cs", "Mn"]), max_size=60), max_size=8))
def test_texts_without_secrets_stay_unchanged(texts: list[str]) -> None:
    assert SHARED.redact(texts) == (texts, [0] * len(texts))


DISGUISES = ["\x1b[32m", "\x1b", "\u200b", "\\u003d", "&quot;", "%3A", "=3D", "&amp;#61;"]
TABLES = ["|", ",", "| password |", "4539 1488 0343 6467"]
PLACEHOLDER = "[REDACTED:a:0f0f0f0f0f0f0f0f]"
MARKS = ["=", '"', ": ", "\\", "[REDACTED:", PLACEHOLDER, "\n", "://", "@", "é", "\udfff"]
WORDS = ["password", "token", "bearer ", "sk-", "-----BEGIN PRIVATE KEY-----", "x9", "aB3" * 12]
FRAGMENTS = st.sampled_from([*DISGUISES, *TABLES, *MARKS, *WORDS])


@given(st.lists(st.lists(FRAGMENTS, max_size=14).map("".join), max_size=4))
def test_redaction_never_fails_and_twice_changes_nothing(texts: list[str]) -> None:
    once, counts = SHARED.redact(texts)
    assert len(once) == len(counts) == len(texts)
    assert SHARED.redact(once) == (once, [0] * len(texts))


@pytest.mark.full
@pytest.mark.parametrize("run", ["x", "a1B2", "a:", "/", "=", " ", "eyJ", "password=", "1\n"])
def test_long_runs_of_one_fragment_are_redacted_once(redactor: SecretRedactor, run: str) -> None:
    ends = f"-----BEGIN PRIVATE KEY-----\n token: authorization: bearer{run * 4000}"
    texts = [f"{ends} -----END PRIVATE KEY----- ://", f"://{run * 4000}@", f"eyJ{run * 4000}.eyJ"]
    once, _ = redactor.redact(texts)
    assert redactor.redact(once)[0] == once


def test_a_rule_has_a_reason(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule=rule):
            assert rule.description.endswith(".")


def test_no_texts_give_no_texts() -> None:
    assert SecretRedactor().redact([]) == ([], [])


SHARED = SecretRedactor()


@pytest.mark.parametrize("letters", ["xXxX", "xxxx", "XXXX"])
def test_letters_that_resemble_a_placeholder_hide_no_secret(
    redactor: SecretRedactor, letters: str
) -> None:
    secret = f"{fresh(12)}{letters}{fresh(12)}"
    (clean,), _ = redactor.redact([f"API_KEY={secret}"])
    assert secret not in clean


@pytest.mark.parametrize("value", ["sk-xxxxxxxxxxxxxxxx1a", "a1b2c3_XXXXXXXX", "xxxx-1a2B3c4D5e6F"])
def test_a_run_of_x_at_the_boundary_of_a_word_is_a_placeholder(
    redactor: SecretRedactor, value: str
) -> None:
    assert redactor.redact([f"API_KEY={value}"]) == ([f"API_KEY={value}"], [0])
