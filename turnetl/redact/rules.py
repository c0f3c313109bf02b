"""Secrets that the native scanner lets pass, each with the reason why a rule of ours is needed."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from turnetl.redact import plausible


@dataclass(frozen=True)
class Rule:
    """A secret by the words around it or by its own form. The last group that matched is it.

    Patterns keep to what both regex engines know: no look-around, no back-reference.
    """

    name: str
    pattern: str
    why: str
    plausible: Callable[[str], bool]
    """Says of what was found whether it can be a secret: values stand in code, too."""
    starts_a_word: bool = False
    """A letter or digit before it (other than of an escaped line end) makes it something else.

    Not part of the pattern: a pattern that begins with a fixed text is many times faster.
    """

    before: re.Pattern[bytes] | None = None
    """Read backwards from where the secret starts: what it matches there is of the secret, too.

    For what must be long before its end shows what it is: a pattern would try every beginning.
    """

    @property
    def recipe(self) -> tuple[str | bytes, ...]:
        """All that decides what the rule cuts; of `plausible` only the name can be told."""
        before = self.before.pattern if self.before is not None else b""
        starts = "starts a word" if self.starts_a_word else ""
        return self.name, self.pattern, self.plausible.__qualname__, starts, before

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        return re.compile(self.pattern.encode())


# Names of what a person chose, and of what a machine drew.
_CHOSEN = r"(?:passw(?:or)?d|pwd|passphrase)"
_DRAWN = (
    r"(?:secret|token|api[_-]?key|access[_-]?key(?:[_-]id)?|secret[_-]?key|private[_-]?key"
    r"|account[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|credentials?)"
)
_OF = r"(?:_(?:prod|production|dev|staging|test|live|value|key|[0-9]+))?"
# JSON inside JSON: quotes come with any number of backslashes.
_IS = r"\\*[\"'`]?\]?[ \t]*(?::=|=>|=|:)[ \t]*"
_QUOTED = r"\\*[\"'`]([^\"'`\\\r\n]{4,})\\*[\"'`]"
_BARE = r"([^ \t\r\n\"'`\\,;<>{}()\[\]$]{6,})(?:[ \t\r\n\"'`\\,;&]|$)"
_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINES = (
    r"(?:[^A-Za-z0-9+/=]{0,8}(?:[A-Za-z0-9+/=]{1,63}[^A-Za-z0-9+/=]{1,8})?[A-Za-z0-9+/=]{40,})+"
)
# Possessive: a text that is all base64 is read once, not once for each way to cut it into lines.
_PEM_LINES_BACKWARDS = (
    r"[^A-Za-z0-9+/=]{0,8}+[A-Za-z0-9+/=]{1,}+"
    r"(?:[^A-Za-z0-9+/=]{1,8}+(?:[0-9]{1,6}+[^A-Za-z0-9+/=]{1,8}+)?+[A-Za-z0-9+/=]{40,}+)*+"
)

RULES = (
    Rule(
        "private-key",
        rf"(?s)(-----BEGIN {_PEM}.*?-----END {_PEM})",
        "A whole PEM key, whatever stands between its lines (quotes, line numbers, `\\n`).",
        plausible.key_body,
    ),
    Rule(
        "private-key-head",
        rf"-----BEGIN {_PEM}({_PEM_LINES})",
        "A PEM key whose end was cut off.",
        plausible.key_body,
    ),
    Rule(
        "private-key-tail",
        rf"()-----END {_PEM}",
        "A PEM key whose beginning was cut off.",
        plausible.key_body,
        before=re.compile(_PEM_LINES_BACKWARDS.encode()),
    ),
    Rule(
        "aws-access-key-id",
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Z0-9]|$)",
        "The scanner wants the secret half beside it.",
        lambda value: "EXAMPLE" not in value,
        starts_a_word=True,
    ),
    Rule(
        "sk-token",
        r"(sk-[A-Za-z0-9_-]{20,})",
        "Keys of OpenAI's form, which many servers copy; the scanner wants a mark inside.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "hugging-face-token",
        r"((?:hf|api_org)_[A-Za-z0-9]{20,})",
        "The scanner wants a checksum.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "vendor-token",
        r"((?:gh[oprsu]|github_pat|glpat|xox[abeoprs]|[rs]k_(?:live|test)|dop_v1|npm|shpat"
        r"|whsec|lin_api|pypi)[_-][A-Za-z0-9_-]{20,})",
        "Known prefixes, where checksum or length is not what the scanner wants.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "google-key",
        r"(AIza[A-Za-z0-9_-]{35})",
        "The scanner wants an end of line or a quote behind it, and misses it in an address.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "json-web-token",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        "Signed, so usable, whether or not the scanner can read its head.",
        plausible.random,
    ),
    Rule(
        "telegram-token",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{32,35})",
        "The scanner wants the service's name beside it.",
        plausible.random,
        starts_a_word=True,
    ),
    Rule(
        "authorization",
        r"(?i)(?:bearer|basic|authorization\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?:[a-z]+[ \t])?)"
        r"[ \t]*([A-Za-z0-9._~+/=:-]{12,})",
        "The header of a request, in curl commands and logs.",
        plausible.token,
    ),
    Rule(
        "password",
        rf"(?i){_CHOSEN}{_OF}{_IS}{_QUOTED}",
        "A quoted value given to a password, chosen by a person or drawn.",
        plausible.password,
    ),
    Rule(
        "password",
        rf"(?i){_CHOSEN}{_OF}(?:{_IS}|[ \t]+is:?[ \t]+){_BARE}",
        "The same without quotes: .env, YAML, a sentence.",
        plausible.mixed,
    ),
    Rule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}(?:{_IS}(?:{_QUOTED}|{_BARE})|[ \t]+is:?[ \t]+{_BARE})",
        "A value given to a token, a secret, a key: code, .env, YAML, a sentence.",
        plausible.token,
    ),
    Rule(
        "url-password",
        r"://[^ \t\r\n:/@\"'`<>\\]*:([^ \t\r\n/\"'`<>\\]{2,})@",
        "The password of a database or proxy address.",
        plausible.password,
    ),
    Rule(
        "url-token",
        r"://([A-Za-z0-9_-]{20,})@",
        "A token in the place of the user's name.",
        plausible.token,
    ),
    Rule(
        "url-parameter",
        r"[?&](?:api_?key|key|token|access_token|sig|signature|secret|password|auth)"
        r"=([^& \t\r\n\"'`<>#\\]{8,})",
        "A secret in an address, as logs repeat it.",
        plausible.token,
    ),
    Rule(
        "flag",
        r"(?i)--(?:password|passwd|token|api-?key|secret|access-token)[ =]\\*[\"']?" + _BARE,
        "A secret given to a command.",
        plausible.mixed,
    ),
    Rule(
        "user-flag",
        r"[ \t](?:-u|--user)[ =]\\*[\"']?[^ \t\r\n:\"'`\\/$]+:([^ \t\r\n\"'`\\$]{4,})",
        "curl's `user:password`.",
        plausible.mixed,
    ),
)
