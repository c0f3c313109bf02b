"""Tokens of issuers that no rule names."""

import pytest

from benchmarks.redaction.drawing import draw
from benchmarks.redaction.places import PLACES
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()
TOKENS = 200
MAX_SHARE = 0.05
"""Drawn values that look like names, by chance."""
UNKNOWN = {
    "prefix, both cases": "zq_{a32}",
    "prefix of several words": "zq_live_{a40}",
    "prefix, digits in hexadecimal": "zqt_{h48}",
    "prefix, lower case": "zq:{l36}",
    "prefix, dashes in the value": "zq_{w44}",
    "no prefix": "{a48}",
    "no prefix, base64": "{a20}{b40}",
    "several parts": "zq:{a24}.{a24}.{a32}",
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_token_with_an_unknown_prefix_or_none_is_redacted_in_every_place(kind: str) -> None:
    places = [place for group in PLACES.values() for place in group]
    secrets = [draw(UNKNOWN[kind]) for _ in range(TOKENS)]
    texts = [
        place.replace("{}", secret) for secret, place in zip(secrets, places * 10, strict=False)
    ]
    results = REDACTOR.redact_many([[text] for text in texts])
    left = [
        secret
        for secret, result in zip(secrets, results, strict=False)
        if secret in result.texts[0]
    ]
    assert len(left) <= MAX_SHARE * len(texts)


def test_digests_ids_and_public_data_stay(subtests: pytest.Subtests) -> None:
    for text in [
        "commit {h40}",
        "toolu_{a24}",
        "call_{a24}",
        "msg_0{h50}",
        "resp_{h48}",
        "{uuid}",
        "sha256:{h64}",
        "image@sha256:{h64}",
        "cache-{h64}",
        "main-{h40}",
        "PRRC_kwDO{a16}",
        "SHA256:{b43} kim@host",
        "integrity sha512-{b86}==",
        "github.com/a/b v1.2.3 h1:{b43}=",
        "a.py,sha256={w43},4096",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{b48} kim",
        "https://docs.google.com/document/d/{w44}/edit",
        "data:image/png;base64,iVBORw0KGgo{b120}",
        "0x{h40}",
        "pk_test_51{a97}",
        "/nix/store/{l32}-glibc-2.39",
        "-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n{b30}\n-----END CERTIFICATE-----",
        "OpenSSLX509CertificateStoreFactoryBuilder2 test_float8_e4m3fn_2_is_monotonic_3x4",
    ]:
        with subtests.test(text=text):
            drawn = [draw(text) for _ in range(TOKENS // 10)]
            assert [
                result.texts[0] for result in REDACTOR.redact_many([[one] for one in drawn])
            ] == drawn


def test_the_prefix_and_the_lines_around_a_token_stay() -> None:
    secret = "zq_" + draw("{a60}{d4}{N2}{n2}")
    (clean,), (count,) = REDACTOR.redact([f"first\n+{secret}\nlast"])
    assert count == 1
    assert clean.startswith("first\n+[REDACTED:token:")
    assert clean.endswith("]\nlast")
