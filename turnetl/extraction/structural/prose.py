"""Plain sentences out of prompts and answers.

Texts may be megabytes: they are cut to a head and a tail before any pattern sees them, and every
pattern's repeats are bounded or cannot overlap.
"""

import re
from collections.abc import Iterable

GIST = 300
"""Characters of a prompt or an answer that one fact carries."""

# Characters at the head and at the tail of a text that are read, for `clip`. They only keep the
# patterns from megabytes: few texts are as long.
ASKED = (4000, 1000)
"""Of a prompt: what is wanted stands before what was pasted, now and then behind it."""
TOLD = (20_000, 20_000)
"""Of an answer, for its sentences."""
NAMED = (15_000, 15_000)
"""Of an answer, for the names in it: what it is about is named more than once."""

_FENCE = re.compile(r"(```|~~~)[\s\S]{0,6000}?(?:\1|\Z)")
_MACHINE_BLOCK = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|command-message|command-args"
    r"|local-command-stdout|task-notification)>[^<]{0,4000}</\1>"
)
_TAG = re.compile(r"</?[a-z][a-z0-9_-]{0,30}(?: [^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_LINE_START = re.compile(
    r"^[ \t]{0,40}(?:[-*+>•]|\d{1,3}[.)]|#{1,6})[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE
)
_RULE = re.compile(r"^[ \t]*(?:[-=*_]{3,}|\|.*\|?)[ \t]*$", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[)\"'*]{0,2}[ \t]+(?=[A-Z`\"'(\[*])|(?<=[\u3002\uff01\uff1f])|\n+")
_TICKED = re.compile(r"`[^`]{0,200}`")
_SHORTEST, _LETTERS = 12, 8
_LAST_PARAGRAPHS = 10
_PIECES = 5
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
_OPENING = re.compile(
    r"^(?:let me\b|now\b,?|now,? let|next,|first,|i'll\b|i will\b|i need to\b|i'm going to\b"
    r"|let's (?:check|see|look|start|verify)|good[.,!]|great[.,!]|perfect[.,!]|ok(?:ay)?[.,!]"
    r"|sure[.,!]"
    r"|alright|hi\b|hello\b|thanks|you're (?:absolutely )?right[.,!]?$|absolutely[.,!]"
    r"|excellent[.,!]"
    r"|here(?:'s| is| are)\b.{0,80}:$|would you like|want me to|shall i\b|do you want"
    r"|let me know|feel free|generated with|🤖|co-authored-by)",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:(?:all |the |good|great|perfect"
    r"|now i)[^\n]{0,200}[.!] )?(?:now,? )?let me (?!know)[^\n]{0,300}[.:]?$"
    r"|(?:let me|now|i'll|i need to|first|next|also|and|then)\b[^\n]{0,300}:$",
    re.IGNORECASE,
)
_EMPTY_PRAISE = re.compile(
    r"^(?:done|perfect|great|good|excellent|all (?:done|set)|ok(?:ay)?|yes|no|sure|right|summary"
    r"|you're (?:absolutely )?right|good (?:question|catch|point))\s*[.!:,—-]*\s*$",
    re.IGNORECASE,
)


def clip(text: str, head: int, tail: int) -> str:
    """Cut the middle out of a text that is longer than `head + tail` characters."""
    if len(text) <= head + tail:
        return text
    # The tail begins with a whole line, if one begins anywhere near.
    kept = text[len(text) - tail :]
    line = kept.find("\n", 0, tail // 4)
    return f"{text[:head]}\n\n{kept[line + 1 :]}"


def plain(text: str) -> str:
    """Take code blocks, tables, tags, links and emphasis out; backticks and line breaks stay."""
    text = _MACHINE_BLOCK.sub(" ", _FENCE.sub("\n", text))
    text = _LINK.sub(r"\1", _TAG.sub(" ", text))
    return _EMPHASIS.sub("", _LINE_START.sub("", _RULE.sub("", text)))


def sentences(text: str) -> list[str]:
    """Split plain text into sentences, each on one line, none empty."""
    cut = (_SPACE.sub(" ", piece).strip() for piece in _END.split(text))
    return [piece for piece in cut if piece]


def shorten(text: str, limit: int) -> str:
    """Cut at a word before `limit` characters, with a sign that something is missing."""
    text = _SPACE.sub(" ", text).strip()
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    space = cut.rfind(" ", limit // 2)
    return (cut[:space] if space > 0 else cut).rstrip(" ,;:.`(") + "…"


def gist(prompt: str) -> str:
    """Return what a prompt asks for: its first sentences, up to `GIST` characters."""
    return next(iter(gists(prompt)), "")


def gists(prompt: str) -> list[str]:
    """Return a prompt in pieces of up to `GIST` characters, the first says what it asks for."""
    words = sentences(plain(clip(prompt, 6000, 0)))
    return pieces([sentence for sentence in words if not _EMPTY_PRAISE.match(sentence)] or words)


def conclusion(answer: str) -> list[str]:
    """Return what an answer came to, in pieces of up to `GIST` characters, at most five.

    It begins after the last announcement of a step: `Now let me run the tests:`.
    """
    paragraphs = plain(clip(answer, 0, 8000)).split("\n\n")
    words = [sentence for part in _last_message(paragraphs) for sentence in sentences(part)]
    telling = [sentence for sentence in words if is_telling(sentence)]
    if not telling:
        words = [sentence for part in paragraphs for sentence in sentences(part)]
        telling = [sentence for sentence in words if is_telling(sentence)]
    return pieces(telling or words)


def pieces(words: Iterable[str]) -> list[str]:
    """Gather sentences into pieces of up to `GIST` characters, at most five."""
    gathered: list[str] = []
    for word in words:
        if gathered and len(gathered[-1]) + len(word) < GIST:
            stop = "" if gathered[-1].endswith((".", "!", "?", ":", ";", "。")) else ";"
            gathered[-1] = f"{gathered[-1]}{stop} {word}"
        else:
            gathered.append(shorten(word, GIST))
    return gathered[:_PIECES]


def is_telling(sentence: str) -> bool:
    """Whether a sentence says something about the work, not about what comes next."""
    if len(sentence) < _SHORTEST or sentence.endswith((":", "\uff1a")):
        return False
    if _OPENING.match(sentence) or _EMPTY_PRAISE.match(sentence):
        return False
    return sum(map(str.isalpha, _TICKED.sub("", sentence))) >= _LETTERS


def last_question(answer: str) -> str:
    """Return the question an answer ends with, or nothing: what a bare `yes` says yes to."""
    words = sentences(plain(clip(answer, 0, 1500)))
    asked = [sentence for sentence in words[-3:] if sentence.endswith("?")]
    return asked[-1] if asked else ""


def _last_message(paragraphs: list[str]) -> list[str]:
    for place in range(len(paragraphs) - 1, -1, -1):
        part = paragraphs[place].strip()
        if "\n" not in part and _ANNOUNCED.match(part) and paragraphs[place + 1 :]:
            return paragraphs[place + 1 :]
    return paragraphs[-_LAST_PARAGRAPHS:]
