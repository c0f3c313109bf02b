"""Finds concepts: names of functions, types, flags, tickets and branches in the texts of a turn.

Of a turn that names no identifier, as in chats, it finds topics. A phrase counts if both speakers
use it, or if one repeats it: then it is what they talk about. A proper name counts always.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.prose import PROMPT_LIMITS, RESPONSE_NAME_LIMITS, clip, plain

_BACKTICKED = re.compile(r"`([^`\n]{2,120})`")
_FENCE = re.compile(r"```[\s\S]{0,8000}?(?:```|\Z)")
_IDENTIFIER = re.compile(
    r"^(?:--[a-z][a-z0-9-]{2,40}"
    r"|/[a-z][\w-]{1,40}(?:/[\w:{}-]{1,40}){0,5}"
    r"|@?[A-Za-z_][\w-]{2,60}(?:(?:\.|::|#)[A-Za-z_][\w-]{0,60}){0,4}(?:\(\))?)$"
)
_FUNCTION_CALL = re.compile(r"^([A-Za-z_][\w.]{2,60})\([^()]{0,80}\)$")
_CODE_WORD = re.compile(
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
_SPECIFIC = re.compile(r"[a-z][A-Z]|_|::|\(\)|^--|^/|\w\.\w|[A-Z]{2}|[a-z]-[a-z]|^[A-Z][a-z]{3,}")
_MACHINE_NAME = re.compile(
    r"^[0-9a-f-]{7,}$|\d{6,}|^/(?:tmp|var|Users|home|private|etc|usr|dev|bin|opt|root|path)/"
    r"|^toolu_|^msg_|^req_|^sess_"
)
_WORD = re.compile(r"[a-z][a-z0-9]{4,30}")
_PATH_WORD = re.compile(r"[a-z0-9]{5,30}")
_BRANCH = re.compile(r"[^\s\x00-\x1f\x7f]{1,120}$")
_MAX_PATH_LENGTH, _MIN_LENGTH = 300, 4
_MAX_CONCEPTS = 14


def concepts(prompt: str, response: str, *, files: frozenset[str]) -> list[str]:
    """Return the identifiers of a turn, the most frequent first.

    One occurrence in the prompt is enough; a name that only the response has must occur twice.
    `files` are base names, which are not concepts.
    """
    prompt = _FENCE.sub("\n", clip(prompt, *PROMPT_LIMITS))
    response = _FENCE.sub("\n", clip(response, *RESPONSE_NAME_LIMITS))
    in_prompt = Counter(_identifiers(prompt, unquoted=True))
    in_response = Counter(_identifiers(response, unquoted=False))
    weights = {
        name: 3 * in_prompt[name] + in_response[name]
        for name in dict.fromkeys([*in_prompt, *in_response])
        if (in_prompt[name] or in_response[name] > 1) and name not in files
    }
    return sorted(weights, key=lambda name: (-weights[name], name))[:_MAX_CONCEPTS]


def topics(prompt: str, files: Iterable[str]) -> list[str]:
    """Return the words of a prompt that occur in paths: `telemetry` for `telemetry/x.go`."""
    in_prompt = Counter(_WORD.findall(prompt[:3000].lower()))
    in_paths = {
        part
        for file in files
        for name in file.lower().split("/")[-2:]
        for part in _PATH_WORD.findall(name.partition(".")[0])
    }
    return sorted(
        (word for word in in_paths if in_prompt[word] and word not in lexicon.COMMON_PATH_WORDS),
        key=lambda word: (-in_prompt[word], word),
    )[:3]


def file_mentions(text: str) -> list[str]:
    quoted = (
        word.strip()
        for word in _BACKTICKED.findall(_FENCE.sub("\n", clip(text, *RESPONSE_NAME_LIMITS)))
    )
    return list(dict.fromkeys(word for word in quoted if is_file_like(word)))[:40]


def is_file_like(word: str) -> bool:
    return len(word) < _MAX_PATH_LENGTH and bool(_FILE_LIKE.match(word.partition(":")[0]))


def tickets(text: str) -> list[str]:
    """Return ticket ids such as `ENT-98`, in order, each once."""
    return list(dict.fromkeys(_TICKET.findall(clip(text, 6000, 2000))))[:5]


def branch(name: str | None) -> str | None:
    """Return the branch if its name is specific: not a default branch, not a commit hash."""
    if not name or not _BRANCH.match(name) or _MACHINE_NAME.search(name):
        return None
    return None if name.lower() in lexicon.DEFAULT_BRANCHES else name


def _identifiers(text: str, *, unquoted: bool) -> list[str]:
    """Return identifiers in backticks; with `unquoted` also words that look like code."""
    identifiers = [_normalized(word.strip()) for word in _BACKTICKED.findall(text)]
    if unquoted:
        rest = _BACKTICKED.sub(" ", text)
        identifiers += [_normalized(word) for word in _CODE_WORD.findall(rest)]
    return [name for name in identifiers if name]


def _normalized(word: str) -> str:
    """Return the identifier without call parentheses, or an empty string if it is none."""
    call = _FUNCTION_CALL.match(word)
    word = call.group(1) if call else word
    if not _IDENTIFIER.match(word) or is_file_like(word):
        return ""
    word = word.removesuffix("()")
    is_generic = word.lower() in lexicon.GENERIC_IDENTIFIERS or _MACHINE_NAME.search(word)
    is_specific = bool(call or _SPECIFIC.search(word)) and len(word) >= _MIN_LENGTH
    return word if is_specific and not is_generic else ""


_PROMPT_LIMITS = (2000, 500)
_RESPONSE_LIMITS = (4000, 2000)
_TOKEN = re.compile(r"[^\W\d_][\w'-]{0,30}|[^\w\s]|\d+")
_PHRASE_WORD = re.compile(r"[^\W\d_][\w-]{2,30}$")
_PROPER_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w-]{2,30}(?: [A-Z][\w-]{1,30}){0,3}")
_MAX_WORDS = 3
_MIN_SINGLE_WORD = 4
"""Letters of a phrase of one word: shorter words say little alone."""
_NOT_NOUN = ("ed", "ing", "ly")
"""Endings of single words that are rarely nouns."""
_NO_NAMES = lexicon.KEYPHRASE_STOP_WORDS | lexicon.DATE_WORDS
_NO_TOPICS = lexicon.GENERIC_IDENTIFIERS | lexicon.COMMON_PATH_WORDS
"""Words that say nothing alone: `file`, `session`."""


def shared_phrases(prompt: str, response: str, count: int) -> list[str]:
    """Return up to `count` phrases of both texts, the longest first, in lower case."""
    text = f" {' '.join(_tokens(response, _RESPONSE_LIMITS))} "
    phrases = dict.fromkeys(_candidates(_tokens(prompt, _PROMPT_LIMITS)))
    return _longest((phrase for phrase in phrases if f" {phrase} " in text), count)


def repeated_phrases(text: str, count: int) -> list[str]:
    """Return up to `count` phrases that a text repeats, the longest first, in lower case."""
    times = Counter(_candidates(_tokens(text, _RESPONSE_LIMITS)))
    return _longest((phrase for phrase in times if times[phrase] > 1), count)


def proper_names(text: str, count: int) -> list[str]:
    """Return up to `count` capitalised names inside sentences, in order, each once."""
    names = _PROPER_NAME.findall(plain(clip(text, *_RESPONSE_LIMITS)))
    return list(dict.fromkeys(name for name in names if name.lower() not in _NO_NAMES))[:count]


def distinct_phrases(phrases: Iterable[str], count: int) -> list[str]:
    """Return the first `count` phrases whose words are not part of an earlier one."""
    chosen: list[str] = []
    for phrase in phrases:
        if len(chosen) == count:
            break
        if not any(f" {phrase.lower()} " in f" {other.lower()} " for other in chosen):
            chosen.append(phrase)
    return chosen


def _tokens(text: str, limits: tuple[int, int]) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(plain(clip(text, *limits)))]


def _longest(phrases: Iterable[str], count: int) -> list[str]:
    """Return the phrases with most words, in order, none part of another."""
    return distinct_phrases(sorted(phrases, key=lambda phrase: -phrase.count(" ")), count)


def _candidates(tokens: list[str]) -> Iterator[str]:
    """Yield every sequence of one to three content words that stands in the text."""
    for start in range(len(tokens)):
        for size in range(1, _MAX_WORDS + 1):
            words = tokens[start : start + size]
            if len(words) < size or not _is_content(words[-1]):
                break
            if size > 1 or _is_noun_like(words[0]):
                yield " ".join(words)


def _is_content(token: str) -> bool:
    return bool(_PHRASE_WORD.match(token)) and token not in lexicon.KEYPHRASE_STOP_WORDS


def _is_noun_like(word: str) -> bool:
    is_long = len(word) >= _MIN_SINGLE_WORD
    return is_long and word not in _NO_TOPICS and not word.endswith(_NOT_NOUN)
