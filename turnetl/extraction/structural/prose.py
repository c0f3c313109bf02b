"""Plain sentences out of prompts and answers.

Texts may be megabytes: they are cut to a head and a tail before any pattern sees them, and every
pattern's repeats are bounded or cannot overlap.
"""

import re
from collections.abc import Iterable, Iterator

GIST = 300
"""Characters of a prompt or an answer that one fact carries."""

_FENCE = re.compile(r"```[^`]{0,4000}(?:```|$)|~~~[^~]{0,4000}(?:~~~|$)")
_MACHINE_BLOCK = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|command-message|command-args"
    r"|local-command-stdout|task-notification)>[^<]{0,4000}</\1>"
)
_TAG = re.compile(r"</?[a-z][a-z0-9_-]{0,30}(?: [^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_LINE_START = re.compile(
    r"^[ \t]{0,40}(?:[-*+>•]|\d{1,3}[.)]|#{1,6})[ \t]+(?:\[[ xX]\][ \t]+)?", re.M
)
_RULE = re.compile(r"^[ \t]*(?:[-=*_]{3,}|\|.*\|?)[ \t]*$", re.M)
_END = re.compile(r"(?<=[.!?])[)\"'*]{0,2}[ \t]+(?=[A-Z`\"'(\[*])|\n+")
_SPACE = re.compile(r"\s+")
_OPENING = re.compile(
    r"^(?:let me\b|now\b,?|now,? let|next,|first,|i'll\b|i will\b|i need to\b|i'm going to\b"
    r"|let's (?:check|see|look|start|verify)|good[.,!]|great[.,!]|perfect[.,!]|ok(?:ay)?[.,!]|sure[.,!]"
    r"|alright|hi\b|hello\b|thanks|you're (?:absolutely )?right[.,!]?$|absolutely[.,!]|excellent[.,!]"
    r"|here(?:'s| is| are)\b.{0,80}:$|would you like|want me to|shall i\b|do you want"
    r"|let me know|feel free|generated with|🤖|co-authored-by)",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"^(?:let me|now\b|i'll|i need to|first|next|also|and |then )", re.IGNORECASE
)
_EMPTY_PRAISE = re.compile(
    r"^(?:done|perfect|great|good|excellent|all (?:done|set)|ok(?:ay)?|yes|no|sure|right|summary"
    r"|you're (?:absolutely )?right|good (?:question|catch|point))\s*[.!:,—-]*\s*$",
    re.IGNORECASE,
)


def clip(text: str, head: int, tail: int) -> str:
    """Cut the middle out of a text that is longer than `head + tail` characters."""
    return text if len(text) <= head + tail else f"{text[:head]}\n\n{text[-tail:]}"


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
    words = sentences(plain(clip(prompt, 6000, 0)))
    meant = [sentence for sentence in words if not _EMPTY_PRAISE.match(sentence)]
    return _fill(meant or words, GIST)


def conclusion(answer: str) -> str:
    """Return what an answer came to: the first sentences after the last narration of a step."""
    paragraphs = plain(clip(answer, 0, 6000)).split("\n\n")
    last = _last_message(paragraphs)
    words = [sentence for part in last for sentence in sentences(part)]
    telling = [sentence for sentence in words if is_telling(sentence)]
    return _fill(telling or words, GIST)


def is_telling(sentence: str) -> bool:
    """Whether a sentence says something about the work, not about what comes next."""
    if len(sentence) < 12 or sentence.endswith(":"):
        return False
    return not (_OPENING.match(sentence) or _EMPTY_PRAISE.match(sentence))


def last_question(answer: str) -> str:
    """Return the question an answer ends with, or nothing: what a bare `yes` says yes to."""
    words = sentences(plain(clip(answer, 0, 1500)))
    asked = [sentence for sentence in words[-3:] if sentence.endswith("?")]
    return asked[-1] if asked else ""


def lead(text: str) -> str:
    """Lower the first letter of a sentence that goes on behind another word."""
    one_word_up = len(text) > 1 and text[0].isupper() and text[1].islower()
    return text[0].lower() + text[1:] if one_word_up else text


def _last_message(paragraphs: list[str]) -> list[str]:
    for place in range(len(paragraphs) - 1, -1, -1):
        part = paragraphs[place].strip()
        if part.endswith(":") and "\n" not in part and _NARRATION.match(part):
            return paragraphs[place + 1 :] or paragraphs
    return paragraphs


def _fill(pieces: Iterable[str], limit: int) -> str:
    return shorten(" ".join(_until(pieces, limit)), limit)


def _until(pieces: Iterable[str], limit: int) -> Iterator[str]:
    length = 0
    for piece in pieces:
        if length and length + len(piece) > limit:
            return
        length += len(piece) + 1
        yield piece
