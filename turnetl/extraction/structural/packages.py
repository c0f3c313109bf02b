"""Finds packages that a project gained: by an install command, or by a line in a manifest."""

import re
from collections.abc import Iterator

from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.shell_commands import ShellCommand

_SYSTEM_INSTALLERS = frozenset(
    ("brew install", "apt install", "apt-get install", "apk add", "dnf install", "yum install")
)
_PACKAGE = re.compile(r"^@?[A-Za-z0-9][\w.+-]{0,60}(?:/[\w.+~-]{1,60}){0,6}$")
_VERSION = re.compile(
    r"(?:\[[^\]]{0,80}\])?(?:[=<>~!^]=?|===?).{0,60}$|(?<=.)@[\w.^~*-]{1,40}$|\[[^\]]{0,80}\]$"
)
_MANIFEST = re.compile(
    r"(?:^|/)(?:package\.json|pyproject\.toml|Cargo\.toml|go\.mod|requirements[\w-]*\.txt|Gemfile)$"
)
_MANIFEST_LINE = re.compile(
    r"^\+? ?\"(@?[a-z][\w./-]{1,60})\": ?\"[\^~>=<]{0,2}\d[\w.-]{0,20}\",?$"
    r"|^\+? ?\"([A-Za-z][\w.-]{1,60})(?:\[[\w,-]{1,60}\])? ?[=<>~!]=? ?\d[^\"]{0,40}\",?$"
    r"|^\+? ?([a-z][\w.-]{1,60}) ?= ?(?:\"\^?\d[\w.*-]{0,20}\""
    r"|\{ ?version ?= ?\"[^\"]{1,30}\".{0,200}\})$"
    r"|^\+? ?(?:require )?((?:[\w-]{1,40}\.)[\w.-]{1,60}(?:/[\w.-]{1,60}){1,5}) v\d[\w.+-]{0,60}$"
    r"|^\+? ?([A-Za-z][\w.-]{1,60})(?:\[[\w,-]{1,60}\])?[=~>]=\d[\w.]{0,20}$"
)
_NOT_PACKAGES = frozenset(
    ("version", "name", "node", "python", "edition", "go", "rust-version", "requires-python")
)
_MAX_LINE_LENGTH = 400
_MAX_PACKAGES = 10


def installed(command: ShellCommand) -> list[str]:
    """Return the packages that a command installs, without versions, in its order."""
    install = _install_command(command)
    if not install:
        return []
    return list(dict.fromkeys(_names(command.words[len(install.split()) :])))[:_MAX_PACKAGES]


def is_dependency(command: ShellCommand) -> bool:
    """Whether the package becomes part of the project rather than of the system."""
    return _install_command(command) not in _SYSTEM_INSTALLERS


def in_manifest(path: str, change: str) -> list[str]:
    """Return the packages that a change adds to a manifest, as far as the change shows them."""
    if not _MANIFEST.search(path):
        return []
    added = change[:20_000].rpartition("+ ")[2] if " + " in change or change[:2] == "+ " else change
    lines = (line.strip() for line in added[:20_000].split("\n")[:400])
    matches = (_MANIFEST_LINE.match(line) for line in lines if len(line) < _MAX_LINE_LENGTH)
    names = (next(filter(None, match.groups())) for match in matches if match)
    return list(dict.fromkeys(name for name in names if name not in _NOT_PACKAGES))[:_MAX_PACKAGES]


def _install_command(command: ShellCommand) -> str:
    words = command.words
    return next(
        (install for n in (3, 2) if (install := " ".join(words[:n])) in lexicon.INSTALL_COMMANDS),
        "",
    )


def _names(words: tuple[str, ...]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in lexicon.VALUE_OPTIONS:
            skip = True
        elif not word.startswith(("-", ".", "/", "~", "$", "git+", "http", "file:")):
            name = _VERSION.sub("", word.strip("'\""))
            if _PACKAGE.match(name) and not name.endswith((".txt", ".whl", ".gz", "/")):
                yield name
