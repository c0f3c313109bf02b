"""Extracts plain sentences from prompts and responses.

Texts may have megabytes: they are clipped to head and tail before a pattern is applied, and the
repetitions of every pattern are bounded or cannot overlap.
"""

import re

MAX_SUMMARY_LENGTH = 300
"""Characters of the summary of a prompt."""

# Characters of head and tail that are read, for `clip`. They only bound the input of the patterns:
# few texts are as long.
PROMPT_LIMITS = (4000, 1000)
"""Prompt: what the user writes precedes pasted text, and sometimes follows it."""
RESPONSE_LIMITS = (20_000, 20_000)
"""Response, for its sentences."""
RESPONSE_NAME_LIMITS = (15_000, 15_000)
"""Response, for the names in it: its topics are named more than once."""

_FENCE = re.compile(r"(```|~~~)[\s\S]{0,6000}?(?:\1|\Z)")
_MACHINE_BLOCK = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|command-message|command-args"
    r"|local-command-stdout|task-notification)>[^<]{0,4000}</\1>"
)
_TAG = re.compile(r"`[^`\n]{0,200}`|</?[a-z][a-z0-9_-]{0,30}(?: [^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_LINE_START = re.compile(
    r"^[ \t]{0,40}(?:[-*+>•]|\d{1,3}[.)]|#{1,6})[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE
)
_RULE = re.compile(r"^[ \t]*(?:[-=*_]{3,}|\|.*\|?)[ \t]*$", re.MULTILINE)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"'*]{0,2}[ \t]+(?=[A-Z`\"'(\[*])|(?<=[\u3002\uff01\uff1f])|\n+"
)
_BACKTICKED = re.compile(r"`[^`]{0,200}`")
_MIN_LENGTH, _MIN_LETTERS = 12, 8
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
_FILLER = re.compile(
    r"^(?:let me\b|now\b,?|now,? let|next,|first,|i'll\b|i will\b|i need to\b|i'm going to\b"
    r"|let's (?:check|see|look|start|verify)|good[.,!]|great[.,!]|perfect[.,!]|ok(?:ay)?[.,!]"
    r"|sure[.,!]|alright|hi\b|hello\b|thanks|you're (?:absolutely )?right[.,!]?$|absolutely[.,!]"
    r"|excellent[.,!]|here(?:'s| is| are)\b.{0,80}:$|would you like|want me to|shall i\b"
    r"|do you want|let me know|feel free|generated with|🤖|co-authored-by)",
    re.IGNORECASE,
)
_ACKNOWLEDGEMENT = re.compile(
    r"^(?:done|perfect|great|good|excellent|all (?:done|set)|ok(?:ay)?|yes|no|sure|right|summary"
    r"|you're (?:absolutely )?right|good (?:question|catch|point))\s*[.!:,—-]*\s*$",
    re.IGNORECASE,
)


def clip(text: str, head: int, tail: int) -> str:
    """Remove the middle of a text that is longer than `head + tail` characters."""
    if len(text) <= head + tail:
        return text
    # Start the tail at a line start if there is one in its first quarter.
    end = text[len(text) - tail :]
    line = end.find("\n", 0, tail // 4)
    return f"{text[:head]}\n\n{end[line + 1 :]}"


def plain(text: str) -> str:
    """Remove code blocks, tables, tags, links and emphasis; keep backticks and line breaks."""
    text = _MACHINE_BLOCK.sub(" ", _FENCE.sub("\n", text))
    # A placeholder in backticks, as in `docs/<name>.md`, is no tag.
    text = _TAG.sub(lambda match: match[0] if match[0][0] == "`" else " ", text)
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub("", _LINE_START.sub("", _RULE.sub("", text)))


def sentences(text: str) -> list[str]:
    """Split plain text into sentences, each on one line, none empty."""
    pieces = (_SPACE.sub(" ", piece).strip() for piece in _SENTENCE_END.split(text))
    return [piece for piece in pieces if piece]


def shorten(text: str, limit: int) -> str:
    """Truncate at a word boundary before `limit` characters, and end with an ellipsis."""
    text = _SPACE.sub(" ", text).strip()
    if len(text) <= limit:
        return text
    truncated = text[: limit - 1]
    space = truncated.rfind(" ", limit // 2)
    return (truncated[:space] if space > 0 else truncated).rstrip(" ,;:.`(") + "…"


def prompt_summary(prompt: str) -> str:
    """Return the first sentences of a prompt, of at most `MAX_SUMMARY_LENGTH` characters."""
    all_sentences = sentences(plain(clip(prompt, 6000, 0)))
    informative = [one for one in all_sentences if not _ACKNOWLEDGEMENT.match(one)]
    first, *more = informative or all_sentences or [""]
    summary = shorten(first, MAX_SUMMARY_LENGTH)
    for sentence in more:
        if len(summary) + len(sentence) >= MAX_SUMMARY_LENGTH:
            break
        separator = "" if summary.endswith((".", "!", "?", ":", ";", "。")) else ";"
        summary = f"{summary}{separator} {sentence}"
    return summary


def is_informative(sentence: str) -> bool:
    """Whether a sentence is about the work, not a filler or an announcement of the next step."""
    if len(sentence) < _MIN_LENGTH or sentence.endswith((":", "\uff1a")):
        return False
    if _FILLER.match(sentence) or _ACKNOWLEDGEMENT.match(sentence):
        return False
    return sum(map(str.isalpha, _BACKTICKED.sub("", sentence))) >= _MIN_LETTERS
