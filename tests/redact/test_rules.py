"""Values that the rules must not take for secrets, and texts that must not slow them down."""

import base64
import hashlib
import json
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES, HEX, LETTERS, LOWER, fresh, fresh_uuid
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()


def sha512() -> str:
    return base64.b64encode(hashlib.sha512(random.randbytes(8)).digest()).decode()


NO_SECRETS: dict[str, Callable[[], str]] = {
    "a commit": lambda: f"commit {fresh(40, HEX)}\nMerge: {fresh(7, HEX)} {fresh(7, HEX)}",
    "commits below each other": lambda: "\n".join(fresh(40, HEX) for _ in range(9)),
    "short commits": lambda: "\n".join(f"{fresh(8, HEX)} fix the token" for _ in range(9)),
    "a digest": lambda: f"sha256:{fresh(64, HEX)} and {fresh(128, HEX)}",
    "a digest beside a token": lambda: f"the token file has sha {fresh(64, HEX)}",
    "a lockfile": lambda: f'"integrity": "sha512-{sha512()}"',
    "a lockfile of yarn": lambda: f"  integrity sha512-{sha512()}\n  resolved x#{fresh(40, HEX)}",
    "a lockfile of Python": lambda: f"--hash=sha256:{fresh(64, HEX)} \\\n--hash=sha256:{sha512()}",
    "a lockfile of Go": lambda: f"golang.org/x/sys v0.1.0 h1:{sha512()[:43]}=",
    "uuids": lambda: f'{{"sessionId": "{fresh_uuid()}", "promptId": "{fresh_uuid()}"}}',
    "a call's id": lambda: f'"tool_use_id": "toolu_01{fresh(22)}", "call_id": "call_{fresh(24)}"',
    "a message's id": lambda: f'"id": "msg_01{fresh(22)}", "requestId": "req_011{fresh(21)}"',
    "ids below each other": lambda: "\n".join(f"toolu_01{fresh(22)}" for _ in range(6)),
    "a thread's id": lambda: f"resp_{fresh(48, HEX)} chatcmpl-{fresh(29)} fc_{fresh(32, HEX)}",
    "an image's name": lambda: f"![a](data/{fresh(32)}.png) {fresh(40, LETTERS)}.jpg",
    "an image": lambda: "data:image/png;base64," + "".join(sha512() for _ in range(9)),
    "a container": lambda: f"Container ID: {fresh(64, HEX)}\nlayer {fresh(12, HEX)}: Pull complete",
    "a package's file": lambda: f"dist/index-{fresh(8)}.js dist/assets/logo.{fresh(8, LOWER)}.svg",
    "an ETag": lambda: f'ETag: "{fresh(32, HEX)}"\nX-Request-Id: {fresh_uuid()}',
    "a cache's key": lambda: f"cache key: node-{fresh(64, HEX)}",
    "names in code": lambda: "getUserAccessTokenV2FromAPIKey(OAuth2ClientCredentials, JWT_RS256)",
    "names for translation": lambda: 't("auth.password.reset2FA.title"), "errors.token.expired401"',
    "types": lambda: 'type Field = "password" | "username" | "token2"; token: string | null',
    "a schema": lambda: "password VARCHAR(255) NOT NULL, token_hash CHAR(64), api_key_id INT",
    "settings without values": lambda: "API_KEY=\nDB_PASSWORD=${DB_PASSWORD}\nTOKEN=<your-token>",
    "paths": lambda: "PWD=/home/dev/shop2 cat /etc/passwd src/auth/token2/v1beta.ts",
    "counts": lambda: "tokens: 12845 in, 2301 out; 14 pass, 2 fail; pass: 14/16 tests",
    "sentences": lambda: "The password is required. Your token expires: see secrets2.md.",
    "a test's names": lambda: "PASS tests/password2fa.test.ts > token2 > should rotate api_key2",
    "an SSH fingerprint": lambda: f"SHA256:{fresh(43)} dev@shop (ED25519)",
    "a public key": lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{fresh(43)} dev@shop",
    "a time": lambda: "2026-03-02T09:00:00.000Z 12:34:56 basic usage: bearer of news",
    "ports": lambda: "docker run -p 5432:5432 -e POSTGRES_USER=app -u 1000:1000 mysql -P 3306 -p",
    "echoes": lambda: "echo hello | sudo tee /etc/motd; echo $T | docker login --password-stdin",
}  # fmt: skip


def test_values_that_only_look_generated_stay(subtests: pytest.Subtests) -> None:
    for kind, make in NO_SECRETS.items():
        with subtests.test(kind=kind):
            texts = [make() for _ in range(8)]
            texts += [json.dumps({"text": text}) for text in texts]
            clean, counts = REDACTOR.redact(texts)
            assert [text for text, count in zip(texts, counts, strict=True) if count] == []
            assert clean == texts


@given(st.text(alphabet=st.characters(), max_size=60), st.sampled_from([*CANARIES]), st.text())
def test_a_secret_in_any_context_is_redacted_once(before: str, kind: str, after: str) -> None:
    secret, text = CANARIES[kind]()
    once, _ = REDACTOR.redact([f"{before}\n{text}\n{after}"])
    assert secret not in once[0]
    assert REDACTOR.redact(once) == (once, [0])


def test_odd_characters_hide_no_secret(subtests: pytest.Subtests) -> None:
    for between in ("\x00", "\ud800", "\x1b[0m", "\u200b", "\r\n", "\x1e"):
        with subtests.test(between=between):
            drawn = [canary() for canary in CANARIES.values()]
            clean, counts = REDACTOR.redact([f"{between} {text} {between}" for _, text in drawn])
            assert [
                secret for (secret, _), text in zip(drawn, clean, strict=True) if secret in text
            ] == []
            assert all(counts)
            assert REDACTOR.redact(clean) == (clean, [0] * len(clean))


SLOW_RUNS = {
    **{f"only {run!r}": (run, "") for run in ("password=", "token: ", "eyJ", "://a:", "secret|")},
    **{
        f"{run!r}, no end": (run, "(") for run in ("password=", "api_key:", "token=a1", "pass=b2c3")
    },
    "starts of keys": ("-----BEGIN PRIVATE KEY-----\n", ""),
    "ends of keys": ("-----END PRIVATE KEY-----\n", ""),
    "backslashes": ("password\\\\\\\\", ""),
    "blanks": ("password        ", ""),
    "splits": ("a1B2c3D4e5F6\n\n", ""),
    "commands": ("mysql -u root ", ""),
    "quotes": ("password: 'a1b2", ""),
    "manifests": ("kind: Secret\ndata:\n  a: b2\n", ""),
    "mail": ("a1b2c3@", ""),
    "paths": ("/home/", ""),
    "headers of CSV": ("user,password\n", ""),
    "cells of a table": ("password | ", ""),
    "keys in XML": ("<RSAKeyValue><P>", ""),
    "colours": ("\x1b[32m", "password"),
    "seeds": ("mnemonic word word ", ""),
    "numbers": ("4539 ", ""),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", SLOW_RUNS)
def test_no_text_takes_long(kind: str) -> None:
    """A pattern that reads the text again from each position would take half an hour."""
    run, end = SLOW_RUNS[kind]
    text = run * (200_000 // len(run)) + end
    (once,), _ = SecretRedactor(pii=True).redact([text])
    assert once
