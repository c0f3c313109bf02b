"""What each rule must not take for a secret, and that no text keeps it busy for long."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES, HEX, LETTERS, LOWER, drawn
from tests.scale import scaled
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()


def sha512() -> str:
    return base64.b64encode(hashlib.sha512(secrets.token_bytes(8)).digest()).decode()


NO_SECRETS: dict[str, Callable[[], str]] = {
    "a commit": lambda: f"commit {drawn(40, HEX)}\nMerge: {drawn(7, HEX)} {drawn(7, HEX)}",
    "commits below each other": lambda: "\n".join(drawn(40, HEX) for _ in range(9)),
    "short commits": lambda: "\n".join(f"{drawn(8, HEX)} fix the token" for _ in range(9)),
    "a digest": lambda: f"sha256:{drawn(64, HEX)} and {drawn(128, HEX)}",
    "a digest beside a token": lambda: f"the token file has sha {drawn(64, HEX)}",
    "a lockfile": lambda: f'"integrity": "sha512-{sha512()}"',
    "a lockfile of yarn": lambda: f"  integrity sha512-{sha512()}\n  resolved x#{drawn(40, HEX)}",
    "a lockfile of Python": lambda: f"--hash=sha256:{drawn(64, HEX)} \\\n--hash=sha256:{sha512()}",
    "a lockfile of Go": lambda: f"golang.org/x/sys v0.1.0 h1:{sha512()[:43]}=",
    "uuids": lambda: f'{{"sessionId": "{uuid4()}", "promptId": "{uuid4()}", "id": "{uuid4()}"}}',
    "a call's id": lambda: f'"tool_use_id": "toolu_01{drawn(22)}", "call_id": "call_{drawn(24)}"',
    "a message's id": lambda: f'"id": "msg_01{drawn(22)}", "requestId": "req_011{drawn(21)}"',
    "ids below each other": lambda: "\n".join(f"toolu_01{drawn(22)}" for _ in range(6)),
    "a thread's id": lambda: f"resp_{drawn(48, HEX)} chatcmpl-{drawn(29)} fc_{drawn(32, HEX)}",
    "an image's name": lambda: f"![a](data/{drawn(32)}.png) {drawn(40, LETTERS)}.jpg",
    "an image": lambda: "data:image/png;base64," + "".join(sha512() for _ in range(9)),
    "a container": lambda: f"Container ID: {drawn(64, HEX)}\nlayer {drawn(12, HEX)}: Pull complete",
    "a package's file": lambda: f"dist/index-{drawn(8)}.js dist/assets/logo.{drawn(8, LOWER)}.svg",
    "an ETag": lambda: f'ETag: "{drawn(32, HEX)}"\nX-Request-Id: {uuid4()}',
    "a cache's key": lambda: f"cache key: node-{drawn(64, HEX)}",
    "names in code": lambda: "getUserAccessTokenV2FromAPIKey(OAuth2ClientCredentials, JWT_RS256)",
    "names for translation": lambda: 't("auth.password.reset2FA.title"), "errors.token.expired401"',
    "types": lambda: 'type Field = "password" | "username" | "token2"; token: string | null',
    "a schema": lambda: "password VARCHAR(255) NOT NULL, token_hash CHAR(64), api_key_id INT",
    "settings without values": lambda: "API_KEY=\nDB_PASSWORD=${DB_PASSWORD}\nTOKEN=<your-token>",
    "paths": lambda: "PWD=/home/dev/shop2 cat /etc/passwd src/auth/token2/v1beta.ts",
    "counts": lambda: "tokens: 12845 in, 2301 out; 14 pass, 2 fail; pass: 14/16 tests",
    "sentences": lambda: "The password is required. Your token expires: see secrets2.md.",
    "a test's names": lambda: "PASS tests/password2fa.test.ts > token2 > should rotate api_key2",
    "an SSH fingerprint": lambda: f"SHA256:{drawn(43)} dev@shop (ED25519)",
    "a public key": lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn(43)} dev@shop",
    "a time": lambda: "2026-03-02T09:00:00.000Z 12:34:56 basic usage: bearer of news",
    "ports": lambda: "docker run -p 5432:5432 -e POSTGRES_USER=app -u 1000:1000 mysql -P 3306 -p",
    "echoes": lambda: "echo hello | sudo tee /etc/motd; echo $T | docker login --password-stdin",
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_SECRETS)
def test_what_only_looks_drawn_stays(kind: str) -> None:
    texts = [NO_SECRETS[kind]() for _ in range(8)]
    texts += [json.dumps({"text": text}) for text in texts]
    clean, counts = REDACTOR.redact(texts)
    assert [text for text, count in zip(texts, counts, strict=True) if count] == []
    assert clean == texts


@given(st.text(alphabet=st.characters(), max_size=60), st.sampled_from([*CANARIES]), st.text())
def test_any_text_may_stand_around_and_once_is_enough(before: str, kind: str, after: str) -> None:
    secret, words = CANARIES[kind]()
    once, _ = REDACTOR.redact([f"{before}\n{words}\n{after}"])
    assert secret not in once[0]
    assert REDACTOR.redact(once) == (once, [0])


@pytest.mark.parametrize("between", ["\x00", "\ud800", "\x1b[0m", "\u200b", "\r\n", "\x1e"])
def test_odd_signs_hide_no_secret(between: str) -> None:
    for made in CANARIES.values():
        secret, words = made()
        (clean,), (count,) = REDACTOR.redact([f"{between} {words} {between}"])
        assert secret not in clean
        assert count
        assert REDACTOR.redact([clean]) == ([clean], [0])


BUSY = {
    **{f"only {run!r}": (run, "") for run in ("password=", "token: ", "eyJ", "://a:", "secret|")},
    **{
        f"{run!r}, no end": (run, "(") for run in ("password=", "api_key:", "token=a1", "pass=b2c3")
    },
    "beginnings of keys": ("-----BEGIN PRIVATE KEY-----\n", ""),
    "ends of keys": ("-----END PRIVATE KEY-----\n", ""),
    "backslashes": ("password\\\\\\\\", ""),
    "blanks": ("password        ", ""),
    "seams": ("a1B2c3D4e5F6\n\n", ""),
    "commands": ("mysql -u root ", ""),
    "quotes": ("password: 'a1b2", ""),
    "manifests": ("kind: Secret\ndata:\n  a: b2\n", ""),
    "mail": ("a1b2c3@", ""),
    "paths": ("/home/", ""),
}


@pytest.mark.parametrize("kind", BUSY)
def test_no_text_keeps_it_busy(kind: str) -> None:
    """A pattern that reads a text again from each of its places would take hours for this."""
    run, end = BUSY[kind]
    text = run * (scaled(400_000) // len(run)) + end
    (once,), _ = SecretRedactor(pii=True).redact([text])
    assert once
