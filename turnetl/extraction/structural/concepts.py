"""Names that an author would know: functions, types, flags, tickets, branches, plans."""

import re
from collections import Counter
from collections.abc import Iterable

from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.prose import ASKED, NAMED, clip

_TICKED = re.compile(r"`([^`\n]{2,120})`")
_FENCE = re.compile(r"```[\s\S]{0,8000}?(?:```|\Z)")
_IDENTIFIER = re.compile(
    r"^(?:--[a-z][a-z0-9-]{2,40}"
    r"|/[a-z][\w-]{1,40}(?:/[\w:{}-]{1,40}){0,5}"
    r"|@?[A-Za-z_][\w-]{2,60}(?:(?:\.|::|#)[A-Za-z_][\w-]{0,60}){0,4}(?:\(\))?)$"
)
_CALL = re.compile(r"^([A-Za-z_][\w.]{2,60})\([^()]{0,80}\)$")
_TYPED = re.compile(
    r"(?<![\w/.`@-])(?:[a-z][a-z0-9]{0,30}(?:[A-Z][a-z0-9]{1,30}){1,6}|(?:[A-Z][a-z0-9]{1,20}){2,6}"
    r"|[A-Za-z]\w{0,30}_\w{1,40}|[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,20}){1,5})(?:\(\))?(?![\w/`@]"
    r"|\.\w)"
)
_TICKET = re.compile(
    r"(?<![\w-])(?!UTF-|SHA-|ISO-|RFC-|GPT-|HTTP-|UTC-|MD-|AES-|CVE-)[A-Z]{2,8}-\d{1,5}(?![\w-])"
)
_FILE_LIKE = re.compile(
    r"^(?:[\w@~.()\[\]-]{0,80}/){0,12}[\w@.()\[\]-]{1,100}\.(?:py|pyi|go|rs|ts|tsx|js|jsx|mjs|cjs"
    r"|java|kt|swift|rb|php"
    r"|c|h|cc|cpp|hpp|cs|m|mm|scala|ex|exs|sh|bash|zsh|sql|md|mdx|rst|txt|json|jsonl|yaml|yml"
    r"|toml|ini|cfg|env"
    r"|html|css|scss|vue|svelte|lua|proto|graphql|tf|ipynb|xml|csv|lock|mod|sum|gradle|plist|tmpl"
    r"|j2|log|mdc|svg|png)$"
)  # fmt: skip
_STRONG = re.compile(r"[a-z][A-Z]|_|::|\(\)|^--|^/|\w\.\w|[A-Z]{2}|[a-z]-[a-z]|^[A-Z][a-z]{3,}")
_MACHINE_WORD = re.compile(
    r"^[0-9a-f-]{7,}$|\d{6,}|^/(?:tmp|var|Users|home|private|etc|usr|dev|bin|opt|root|path)/"
    r"|^toolu_|^msg_|^req_|^sess_"
)
_WORD = re.compile(r"[a-z][a-z0-9]{4,30}")
_PART = re.compile(r"[a-z0-9]{5,30}")
_BRANCH = re.compile(r"[^\s\x00-\x1f\x7f]{1,120}$")
_PATH_LENGTH, _SHORTEST = 300, 4
_MOST = 14


def concepts(prompt: str, answer: str, *, files: frozenset[str]) -> list[str]:
    """Return the identifiers a turn is about, most spoken of first.

    What the person named counts at once; what only the agent named must recur.

    Args:
        files: base names that are files already.
    """
    asked, told = clip(prompt, *ASKED), clip(answer, *NAMED)
    asked, told = _FENCE.sub("\n", asked), _FENCE.sub("\n", told)
    by_person, by_agent = Counter(_named(asked, loose=True)), Counter(_named(told, loose=False))
    weights = {
        name: 3 * by_person[name] + by_agent[name]
        for name in dict.fromkeys([*by_person, *by_agent])
        if (by_person[name] or by_agent[name] > 1) and name not in files
    }
    return sorted(weights, key=lambda name: (-weights[name], name))[:_MOST]


def topics(prompt: str, files: Iterable[str]) -> list[str]:
    """Return words of a prompt that files are called by: `telemetry` of `telemetry/x.go`."""
    asked = Counter(_WORD.findall(prompt[:3000].lower()))
    called = {
        part
        for file in files
        for name in file.lower().split("/")[-2:]
        for part in _PART.findall(name.partition(".")[0])
    }
    return sorted(
        (word for word in called if asked[word] and word not in lexicon.COMMON),
        key=lambda word: (-asked[word], word),
    )[:3]


def file_mentions(text: str) -> list[str]:
    """Return the paths that stand in backticks, in order, each once."""
    ticked = (word.strip() for word in _TICKED.findall(_FENCE.sub("\n", clip(text, *NAMED))))
    return list(dict.fromkeys(word for word in ticked if is_file_like(word)))[:40]


def is_file_like(word: str) -> bool:
    return len(word) < _PATH_LENGTH and bool(_FILE_LIKE.match(word.partition(":")[0]))


def tickets(text: str) -> list[str]:
    """Return the names of tickets, `ENT-98`, in order, each once."""
    return list(dict.fromkeys(_TICKET.findall(clip(text, 6000, 2000))))[:5]


def branch(name: str | None) -> str | None:
    """Return a branch that has a name of its own: not the trunk, not a bare commit."""
    if not name or not _BRANCH.match(name) or _MACHINE_WORD.search(name):
        return None
    return None if name.lower() in lexicon.TRUNKS else name


def _named(text: str, *, loose: bool) -> list[str]:
    found = [_tidy(word.strip()) for word in _TICKED.findall(text)]
    if loose:
        rest = _TICKED.sub(" ", text)
        found += [_tidy(word) for word in _TYPED.findall(rest)]
    return [name for name in found if name]


def _tidy(word: str) -> str:
    call = _CALL.match(word)
    word = call.group(1) if call else word
    if not _IDENTIFIER.match(word) or is_file_like(word):
        return ""
    word = word.removesuffix("()")
    vague = word.lower() in lexicon.VAGUE or _MACHINE_WORD.search(word)
    return "" if vague or not (call or _STRONG.search(word)) or len(word) < _SHORTEST else word
