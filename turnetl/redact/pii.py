"""What names a person and is no secret: addresses of mail and machines, names of home folders.

Cut out only when asked for. Every pattern runs on suspects alone, so it may look around.
"""

import re
from ipaddress import IPv4Address, IPv6Address

from turnetl.redact.columns import column
from turnetl.redact.rules import SecretRule

_SEPARATOR = r"(?:\\*/|\\+|%2[fF])"
"""Between folders: JSON doubles backslashes and may write `\\/`, addresses have `%2F`."""
_ROOT = rf"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=[0-9;]m)|(?<=%3[aA])|(?<=\s-[A-Z])){_SEPARATOR}"
"""Where a path can begin: not in a word. The line's end of JSON, a colour or a flag can be before
it."""
_HOMES = (
    rf"(?:{_ROOT}(?:(?:var|usr|export){_SEPARATOR})?(?:home|Users)"
    rf"|wsl(?:\$|\.localhost){_SEPARATOR}[\w.-]{{1,64}}{_SEPARATOR}home"
    rf"|(?<!\w)[A-Za-z](?::|%3[aA]){_SEPARATOR}(?i:users)"
    rf"|{_ROOT}(?:(?:mnt|cygdrive){_SEPARATOR})?[a-z]{_SEPARATOR}(?i:users)){_SEPARATOR}"
)
_NAME = r"[\w\x80-\xff](?:[\w.@+\x80-\xff-]{0,62}[\w\x80-\xff])?"
_SPACED = rf"{_NAME}(?: [A-Z\x80-\xff][\w.\x80-\xff-]{{0,30}}){{1,3}}(?={_SEPARATOR})"
_SIGN = rb"(?:[0-9a-f]{4}u\\|[A-Za-z0-9._%+-]|[\x80-\xbf][\xc3-\xd4])"
_LOCAL = re.compile(
    rb"%s{1,64}?(?:(?=[nrt]\\)|(?!%s))|(?:[\x80-\xbf]{2}[\xe3-\xed]){1,4}" % (_SIGN, _SIGN)
)
"""What stands before the `@`, read backwards: letters of Latin, Greek and Cyrillic, also as JSON
escapes them, but not the `n` of a line's end in JSON; else signs of Chinese, Japanese or Korean, as
few as a name has: there the words around have no blank between them."""
_LETTER = r"(?:[A-Za-z]|[\xc3-\xd4][\x80-\xbf])"
_LABEL = rf"(?:{_LETTER}|[0-9])(?:(?:{_LETTER}|[0-9-]){{0,61}}(?:{_LETTER}|[0-9]))?"
_DOMAIN = rf"(?:{_LABEL}\.){{1,6}}{_LETTER}{{2,24}}(?![A-Za-z0-9-])"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_QUAD = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_VERSION = (
    r"(?i:(?:version|release|build)[^0-9A-Za-z\n]{0,4}|\bv\.?|\w/|[=~^<>!]=[ ]?|[~^])"
    r"[0-9]+(?:\.[0-9]+){3}"
)
_APART = r"(?:(?<![\w.])(?<![A-Za-z]-)|(?<=\\[nrt]))"
_COARSE = (
    r"@[\p{L}0-9-]+\.|(?:home|[uU]sers)(?:[/\\-]|%2[fF])|[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
    r"|[23fF][0-9a-fA-F]{3}:[0-9a-fA-F:]"
)
"""Is in every text that a rule below finds something in."""

_NOBODYS_NAMES = frozenset({"shared", "public", "default", "all users", "linuxbrew"})
_NOBODYS_BOXES = frozenset({"git", "hg", "svn", "noreply", "no-reply", "donotreply"})
_NOBODYS_DOMAINS = (
    *("example", "test", "invalid", "localhost"),
    *("example.com", "example.org", "example.net"),
)
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "js", "ts", "css"})
"""`logo@2x.png`."""


def named(texts: list[str]) -> dict[int, list[SecretRule]]:
    """Return the places of the texts worth a closer look, each with all the rules of here.

    Args:
        texts: any; half a character counts as a question mark.
    """
    return {int(at): list(PERSONAL) for at in column(texts).str.contains(_COARSE).arg_true()}


def _box(value: str) -> bool:
    """Say whether a person can be written to there."""
    local, _, domain = value.lower().partition("@")
    if not local or local in _NOBODYS_BOXES or domain.rpartition(".")[2] in _FILES:
        return False
    return not any(domain == of or domain.endswith(f".{of}") for of in _NOBODYS_DOMAINS)


def _name(value: str) -> bool:
    return value.lower() not in _NOBODYS_NAMES


def _ipv4(value: str) -> bool:
    """Say whether it can be somebody's machine: 1.2.3.4 is the fourth part of a version, too."""
    try:
        address = IPv4Address(value)
    except ValueError:
        return False
    spoken = all(len(part) == 1 for part in value.split("."))
    return not (spoken or _is_nobodys(address) or address.packed[0] in (0, 255))


def _ipv6(value: str) -> bool:
    try:
        return not _is_nobodys(IPv6Address(value))
    except ValueError:
        return False


def _is_nobodys(address: IPv4Address | IPv6Address) -> bool:
    documentation = isinstance(address, IPv6Address) and address.packed[:4] == _DOCUMENTATION
    examples = isinstance(address, IPv4Address) and address.packed[:3] in _EXAMPLES
    return address.is_loopback or address.is_unspecified or documentation or examples


_DOCUMENTATION = bytes([0x20, 0x01, 0x0D, 0xB8])
_EXAMPLES = (bytes([192, 0, 2]), bytes([198, 51, 100]), bytes([203, 0, 113]))

PERSONAL = (
    SecretRule(
        "email",
        rf"(@{_DOMAIN})",
        "Writes to a person.",
        _box,
        before=_LOCAL,
    ),
    SecretRule(
        "home",
        rf"{_HOMES}({_SPACED}|{_NAME})",
        "A person's name, as a rule; the folders around it tell the project and stay.",
        _name,
    ),
    SecretRule(
        "home",
        r"(?<=[\\/])-(?:home|Users)-([A-Za-z0-9_.]{1,64})",
        "The same in the name that Claude Code makes of a project's folder.",
        _name,
    ),
    SecretRule(
        "ip",
        rf"{_VERSION}|{_APART}({_QUAD})(?!\w|-[A-Za-z]|\.[0-9])",
        "Leads to a person's machine. What is said to be a version is stepped over.",
        _ipv4,
    ),
    SecretRule(
        "ip",
        rf"(?i){_APART}(?<!:)((?:[23][0-9a-f]{{3}}|fe80|f[cd][0-9a-f]{{2}})(?::[0-9a-f]{{0,4}}){{2,7}})"
        r"(?![\w:])",
        "The same in six; only what is in use: global, local to a link or to a site.",
        _ipv6,
    ),
)
NAMES = frozenset(rule.name for rule in PERSONAL)
