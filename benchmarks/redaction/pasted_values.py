"""Secrets of pasted texts, drawn from a seed: passwords, keys, tokens, key files, codes."""

import base64
import re
import string
from collections.abc import Callable, Mapping, Sequence
from random import Random
from uuid import UUID

from benchmarks.redaction.drawing import ALPHABETS
from benchmarks.redaction.tokens import TOKENS

_DRAWN = re.compile(r"\{(?:(uuid)|([a-zA-Z])(\d+))\}")
_IN_ADDRESSES = re.compile(r"[\w.-]+")
"""A token that no encoding changes."""
_HASHES = ("bcrypt", "sha512-crypt", "argon2")
_KEYS = ("{h32}", "{h40}", "{h64}", "{a24}", "{a32}", "{a40}", "{w32}", "{w43}")
_UNKNOWN = (
    *("acme_{a32}", "{n3}_live_{a28}", "{n2}-{h40}", "{a40}", "{w43}"),
    *("{n4}pat_{a36}", "tk1.{h24}.{a40}", "{n5}-api-{l30}"),
)
_CODES = ("{l5}-{l5}", "{h4}-{h4}", "{d4} {d4}", "{l8}", "{d8}")
_LEET = str.maketrans("aeios", "431o$")
_SEED_WORDS = """
abandon badge cabbage dad eager fabric gadget habit ice jacket kangaroo label machine oak pact
quality rabbit sad table ugly vacant wage yard zebra anchor basket candy dinner elbow fossil
garden hammer island jungle kitten ladder magnet nephew ocean pencil quiz ribbon silver tiger
"""
_LABELS = ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
_OPENSSH = "OPENSSH PRIVATE KEY"
_OPENSSH_HEAD = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"
"""The first line of such a key: it holds no secret."""


class Drawing:
    """Draws the values of one text; the same seed draws the same values."""

    def __init__(self, seed: str, words: Sequence[str]) -> None:
        self.random = Random(seed)
        self.words = words
        self.user = self.random.choice(("kim", "nora", "svc-etl", "j.doe", "admin", "maria"))

    def pattern(self, pattern: str) -> str:
        """Return the pattern with a drawn value in place of each `{a36}` or `{uuid}`."""
        return _DRAWN.sub(self._value, pattern)

    def _value(self, match: re.Match[str]) -> str:
        if match[1]:
            return str(UUID(int=self.random.getrandbits(128), version=4))
        alphabet, length = ALPHABETS[match[2]], int(match[3])
        ends = "".join(filter(str.isalnum, alphabet))
        inner = self.random.choices(alphabet, k=max(0, length - 2))
        edges = self.random.choices(ends, k=2)
        return "".join([edges[0], *inner, edges[1]])[-length:]

    def password(self) -> str:
        """Return a password as people choose or programs draw it, without spaces."""
        choose, word = self.random.choice, self._word
        return choose(
            (
                lambda: self.pattern("{a20}"),
                lambda: self.pattern("{a10}"),
                lambda: self.pattern("{a5}!{a4}_{a4}"),
                lambda: f"{word().title()}20{choose('0123')}{choose(string.digits)}",
                lambda: f"{word()}{self.pattern('{d2}')}!",
                lambda: f"{word()}-{word()}-{word()}",
                lambda: f"{word().translate(_LEET)}{self.pattern('{d3}')}",
                lambda: word() + word(),
                lambda: f"{word().title()}{word().title()}{self.pattern('{d1}')}",
            )
        )()

    def phrase(self) -> str:
        return " ".join(self._word() for _ in range(4))

    def _word(self) -> str:
        return self.random.choice(self.words)

    def token(self) -> str:
        """Return a token whose maker can be told from it."""
        kinds = [pattern for kind, pattern in TOKENS.items() if kind not in _HASHES]
        while not _IN_ADDRESSES.fullmatch(token := self.pattern(self.random.choice(kinds))):
            pass
        return token

    def key_lines(self, form: str) -> tuple[list[str], list[str]]:
        """Return the lines of a key file and those among them that are secret.

        Args:
            form: `pem` is whole, `pem cut` has no end, `pem tail` has no beginning.
        """
        label = _OPENSSH if "openssh" in form or not self.random.randrange(4) else None
        label = label or self.random.choice(_LABELS)
        head, width = ([_OPENSSH_HEAD], 70) if label == _OPENSSH else ([], 64)
        count = 2 if label.startswith("EC") else self.random.randint(3, 14)
        secret = [self.pattern(f"{{b{width}}}") for _ in range(count)]
        if not head and "tail" not in form:
            secret[0] = "MII" + secret[0][3:]
        if "cut" in form:
            lines = [f"-----BEGIN {label}-----", *head, *secret]
        elif "tail" in form:
            lines = [*secret, self.pattern("{b30}=="), f"-----END {label}-----"]
        else:
            lines = [f"-----BEGIN {label}-----", *head, *secret, f"-----END {label}-----"]
        return lines, secret


def _base64(user: str) -> Callable[[Drawing], str]:
    return lambda drawing: base64.b64encode(f"{user}{drawing.password()}".encode()).decode()


def _chosen(patterns: Sequence[str]) -> Callable[[Drawing], str]:
    return lambda drawing: drawing.pattern(drawing.random.choice(patterns))


def _seed(drawing: Drawing) -> str:
    return " ".join(drawing.random.choices(_SEED_WORDS.split(), k=12))


def _numbered_seed(drawing: Drawing) -> str:
    words = _seed(drawing).split()
    return " ".join(f"{number} {word}" for number, word in enumerate(words, 1))


def _groups(text: str) -> str:
    return " ".join(re.findall("....", text))


MARKS: Mapping[str, tuple[str, Callable[[Drawing], str]]] = {
    "pw": ("passwords", Drawing.password),
    "phrase": ("passwords", Drawing.phrase),
    "base64": ("encoded passwords", _base64("")),
    "basic": ("encoded passwords", _base64("kim:")),
    "pin": ("PINs", _chosen(("{d4}", "{d6}"))),
    "key": ("keys", _chosen(_KEYS)),
    "token": ("tokens of known makers", Drawing.token),
    "unknown": ("tokens of unknown makers", _chosen(_UNKNOWN)),
    "totp": ("one-time secrets", _chosen(("{c32}", "{c16}"))),
    "totp4": ("one-time secrets", lambda drawing: _groups(drawing.pattern("{c32}"))),
    "totp4 lower": ("one-time secrets", lambda drawing: _groups(drawing.pattern("{c32}")).lower()),
    "seed": ("seeds", _seed),
    "numbered seed": ("seeds", _numbered_seed),
    "code": ("backup codes", _chosen(_CODES)),
}
"""Class and drawing of a secret by the mark that stands for it in a text."""
KEY_FILES = "private key files"
