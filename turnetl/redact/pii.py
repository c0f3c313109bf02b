"""Rules for personal data (PII): e-mail addresses, IP addresses, names of home folders.

PII is redacted only on request. The patterns run on candidates only, so they may use look-around.
"""

from ipaddress import IPv4Address, IPv6Address

from turnetl.redact.rules import SecretRule
from turnetl.redact.text_column import text_column

_SEPARATOR = r"(?:\\*/|\\+|%2[fF])"
"""Separator of folders: JSON doubles backslashes and may write `\\/`, URLs have `%2F`."""
_ROOT = rf"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=[0-9;]m)|(?<=%3[aA])|(?<=\s-[A-Z])){_SEPARATOR}"
"""The start of a path: not within a word, but possibly after an escaped newline, a colour or a
flag."""
_HOMES = (
    rf"(?:{_ROOT}(?:(?:var|usr|export){_SEPARATOR})?(?:home|Users)"
    rf"|wsl(?:\$|\.localhost){_SEPARATOR}[\w.-]{{1,64}}{_SEPARATOR}home"
    rf"|(?<!\w)[A-Za-z](?::|%3[aA]){_SEPARATOR}(?i:users)"
    rf"|{_ROOT}(?:(?:mnt|cygdrive){_SEPARATOR})?[a-z]{_SEPARATOR}(?i:users)){_SEPARATOR}"
)
_NAME = r"[\w\x80-\xff](?:[\w.@+\x80-\xff-]{0,62}[\w\x80-\xff])?"
_NAME_WITH_SPACES = rf"{_NAME}(?: [A-Z\x80-\xff][\w.\x80-\xff-]{{0,30}}){{1,3}}(?={_SEPARATOR})"
_LOCAL_CHAR = rb"(?:[0-9a-f]{4}u\\|[A-Za-z0-9._%+-]|[\x80-\xbf][\xc3-\xd4])"
_REVERSED_LOCAL_PART = rb"%s{1,64}?(?:(?=[nrt]\\)|(?!%s))|(?:[\x80-\xbf]{2}[\xe3-\xed]){1,4}" % (
    _LOCAL_CHAR,
    _LOCAL_CHAR,
)
"""The local part before the `@`, reversed: Latin, Greek and Cyrillic letters, also escaped in JSON,
but not the `n` of an escaped newline; or a few Chinese, Japanese or Korean characters, no more than
a name has, because these languages have no spaces between words."""
_LETTER = r"(?:[A-Za-z]|[\xc3-\xd4][\x80-\xbf])"
_LABEL = rf"(?:{_LETTER}|[0-9])(?:(?:{_LETTER}|[0-9-]){{0,61}}(?:{_LETTER}|[0-9]))?"
_DOMAIN = rf"(?:{_LABEL}\.){{1,6}}{_LETTER}{{2,24}}(?![A-Za-z0-9-])"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_QUAD = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_VERSION = (
    r"(?i:(?:version|release|build)[^0-9A-Za-z\n]{0,4}|\bv\.?|\w/|[=~^<>!]=[ ]?|[~^])"
    r"[0-9]+(?:\.[0-9]+){3}"
)
_BOUNDARY = r"(?:(?<![\w.])(?<![A-Za-z]-)|(?<=\\[nrt]))"
_PREFILTER = (
    r"@[\p{L}0-9-]+\.|(?:home|[uU]sers)(?:[/\\-]|%2[fF])|[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
    r"|[23fF][0-9a-fA-F]{3}:[0-9a-fA-F:]"
)
"""Matches every text in which a rule below can match."""

_SHARED_HOMES = frozenset({"shared", "public", "default", "all users", "linuxbrew"})
_SHARED_MAILBOXES = frozenset({"git", "hg", "svn", "noreply", "no-reply", "donotreply"})
_EXAMPLE_DOMAINS = (
    *("example", "test", "invalid", "localhost"),
    *("example.com", "example.org", "example.net"),
)
_FILE_SUFFIXES = frozenset(
    {"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "js", "ts", "css"}
)
"""Suffixes of file names like `logo@2x.png`."""


def pii_candidates(texts: list[str]) -> dict[int, list[SecretRule]]:
    """Return the indexes of the texts that may hold PII, each with all PII rules.

    Args:
        texts: any texts; a lone surrogate counts as a replacement character.
    """
    matches = text_column(texts).str.contains(_PREFILTER)
    return {int(index): list(PII_RULES) for index in matches.arg_true()}


def _is_mailbox(value: str) -> bool:
    """Return whether the address can be that of a person."""
    local, _, domain = value.lower().partition("@")
    if not local or local in _SHARED_MAILBOXES or domain.rpartition(".")[2] in _FILE_SUFFIXES:
        return False
    return not any(
        domain == example or domain.endswith(f".{example}") for example in _EXAMPLE_DOMAINS
    )


def _is_user_name(value: str) -> bool:
    return value.lower() not in _SHARED_HOMES


def _is_ipv4(value: str) -> bool:
    """Return whether the value can be the address of a machine: `1.2.3.4` is also a version."""
    try:
        address = IPv4Address(value)
    except ValueError:
        return False
    is_example = all(len(part) == 1 for part in value.split("."))
    return not (is_example or _is_reserved(address) or address.packed[0] in (0, 255))


def _is_ipv6(value: str) -> bool:
    try:
        return not _is_reserved(IPv6Address(value))
    except ValueError:
        return False


def _is_reserved(address: IPv4Address | IPv6Address) -> bool:
    documentation = isinstance(address, IPv6Address) and address.packed[:4] == _IPV6_EXAMPLES
    examples = isinstance(address, IPv4Address) and address.packed[:3] in _IPV4_EXAMPLES
    return address.is_loopback or address.is_unspecified or documentation or examples


_IPV6_EXAMPLES = bytes([0x20, 0x01, 0x0D, 0xB8])
_IPV4_EXAMPLES = (bytes([192, 0, 2]), bytes([198, 51, 100]), bytes([203, 0, 113]))

PII_RULES = (
    SecretRule(
        "email",
        rf"(@{_DOMAIN})",
        "The e-mail address of a person.",
        _is_mailbox,
        reversed_prefix=_REVERSED_LOCAL_PART,
    ),
    SecretRule(
        "home",
        rf"{_HOMES}({_NAME_WITH_SPACES}|{_NAME})",
        "Most often a person's name. The folders around it name the project and stay.",
        _is_user_name,
    ),
    SecretRule(
        "home",
        r"(?<=[\\/])-(?:home|Users)-([A-Za-z0-9_.]{1,64})",
        "A home folder in the name that Claude Code derives from a project's folder.",
        _is_user_name,
    ),
    SecretRule(
        "ip",
        rf"{_VERSION}|{_BOUNDARY}({_QUAD})(?!\w|-[A-Za-z]|\.[0-9])",
        "The IPv4 address of a machine. Version numbers are skipped.",
        _is_ipv4,
    ),
    SecretRule(
        "ip",
        rf"(?i){_BOUNDARY}(?<!:)((?:[23][0-9a-f]{{3}}|fe80|f[cd][0-9a-f]{{2}})(?::[0-9a-f]{{0,4}}){{2,7}})"
        r"(?![\w:])",
        "The IPv6 address of a machine, in the ranges in use: global, link-local, site-local.",
        _is_ipv6,
    ),
)
PII_RULE_NAMES = frozenset(rule.name for rule in PII_RULES)
