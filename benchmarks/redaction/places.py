"""Places of a token that is recognised by itself, and disguises of any text."""

from collections.abc import Callable

PLACES: dict[str, tuple[str, ...]] = {
    "plain": (
        "{}",
        "use {} here",
        "the token is {}.",
        "({})",
        "'{}'",
        '"{}",',
        "a: {}\nb: 1",
        "x={}",
        "- {}\n- b",
        "`{}`",
        "<b>{}</b>",
        "[{}]",
        "| {} |",
        "# {}",
    ),
    "settings": (
        "TOKEN={}",
        'token: "{}"',
        '{"token": "{}"}',
        "export KEY='{}'",
        "<token>{}</token>",
    ),
    "commands": (
        "curl -H 'Authorization: Bearer {}' https://x.io",
        "curl -H 'X-Api-Key: {}' https://x.io",
        "tool login --token {} --yes",
        "tool --token={}",
        "curl 'https://x.io/a?key={}&b=1'",
        "https://x.io/a?access_token={}",
        "https://{}@x.io/a",
        "git clone https://oauth2:{}@x.io/a.git",
    ),
    "diffs": ("+TOKEN={}", "+{}", "-  token: {}", "    12\t{}", "     7→{}"),
    "colours": (
        "\x1b[32m{}\x1b[0m",
        "\x1b[32m+\x1b[m\x1b[32m{}\x1b[m",
        "\x1b[32m+\x1b[m\x1b[32mTOKEN={}\x1b[m",
        "\x1b[01;31m\x1b[KTOKEN\x1b[m\x1b[K={}",
        "\\u001b[32m{}\\u001b[0m",
        "\\x1b[1m{}\\x1b[22m",
        "\\033[33m{}\\033[0m",
    ),
    "escapes": (
        "TOKEN\\u003d{}",
        "token=3D{}",
        "x%3D{}%26b",
        "token=&quot;{}&quot;",
        "\\u0022{}\\u0022",
        "&#34;{}&#34;",
        "token%22%3A%22{}%22",
    ),
    "zero-width characters": ("\u200b{}\u200b", "a \ufeff{}", "token:\u2060{}", "x\u00ad{}"),
}
"""Places by their group."""


def _diff(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(f"\x1b[32m+\x1b[m\x1b[32m{line}\x1b[m" for line in lines)


def _removed(text: str) -> str:
    return "\n".join(f"\x1b[31m-{line}\x1b[m" for line in text.split("\n"))


def _word_diff(text: str) -> str:
    for mark in ("={}", ": {}"):
        text = text.replace(mark, f"{mark[:-2]}\x1b[31m[-old-]\x1b[m\x1b[32m{{+{{}}+}}\x1b[m")
    return text


def _highlighted(text: str) -> str:
    for mark in ("=", ":"):
        text = text.replace(mark, f"\x1b[0m\x1b[38;5;203m{mark}\x1b[0m\x1b[38;5;186m", 1)
    return f"\x1b[38;5;81m{text}\x1b[0m"


def _grep(text: str) -> str:
    head = "\x1b[35m\x1b[K.env\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K"
    for name in ("PASSWORD", "password", "Password"):
        if name in text:
            found = text.replace(name, f"\x1b[01;31m\x1b[K{name}\x1b[m\x1b[K", 1)
            return head + found
    return head + text


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _written_colour(escape: str) -> Callable[[str], str]:
    return lambda text: f"{escape}[32m+{escape}[m{escape}[32m{text}{escape}[m"


def _html(text: str) -> str:
    return text.replace('"', "&quot;").replace("'", "&#39;").replace("<", "&lt;")


DISGUISES: dict[str, dict[str, Callable[[str], str]]] = {
    "colours": {
        "git diff": _diff,
        "git diff, removed": _removed,
        "git diff, words": _word_diff,
        "highlighted": _highlighted,
        "grep": _grep,
        "escape in JSON": _written_colour("\\u001b"),
        "escape in hexadecimal": _written_colour("\\x1b"),
        "escape in octal": _written_colour("\\033"),
    },
    "escapes": {
        "equals in JSON": _replaced("=", "\\u003d"),
        "quotes in JSON": _replaced('"', "\\u0022"),
        "quoted-printable": _replaced("=", "=3D"),
        "URL": lambda text: text.replace("=", "%3D").replace(":", "%3A"),
        "HTML": _html,
        "HTML, equals": _replaced("=", "&#61;"),
        "twice in JSON": _replaced("=", "\\\\u003d"),
    },
    "zero-width characters": {
        "space in the name": _replaced("ass", "as\u200bs"),
        "after the mark": lambda text: text.replace("=", "=\u200b").replace(": ", ": \ufeff"),
        "before the mark": lambda text: text.replace("=", "\u2060=").replace(":", "\u200d:"),
        "soft hyphen in the name": _replaced("wor", "w\u00ador"),
    },
}
"""Functions that disguise a text with the mark `{}`, by their group."""
