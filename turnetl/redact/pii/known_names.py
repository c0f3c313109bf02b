"""Names revealed elsewhere in the archive, redacted if certain: long, and no ordinary words."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from turnetl.redact.pii.subject import COMMON_ACCOUNTS
from turnetl.redact.spans import Span

NAME_RULES = frozenset({"home", "user", "author"})
"""Rules whose values are names of people and accounts."""
_MIN_ACCOUNT_CHARS = 6
_MIN_WORD_CHARS = 2
_MIN_FULL_NAME_CHARS = 8
_ACCOUNT = re.compile(r"[a-z][a-z0-9._-]*[a-z0-9]", re.IGNORECASE)
_BEFORE = re.compile(rb"(?:\A|[^\\])[A-Za-z0-9\x80-\xff]\Z|\\[A-MO-QSU-Za-mo-qsu-z0-9]\Z")
_AFTER = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_PATH = re.compile(
    rb"(?:[A-Za-z]:)?[\\/](?:\[REDACTED:[a-z-]++:[0-9a-f]++\]"
    rb"|[^\s\[\"'`:;,()<>|]|[ ](?=[^\n]{0,200}[\\/]))*+\Z"
)


def is_certain_name(value: str) -> bool:
    words = value.split()
    if len(words) > 1:
        are_names = all(len(word) >= _MIN_WORD_CHARS and word[0].isupper() for word in words)
        return are_names and value.replace(" ", "").isalpha() and len(value) >= _MIN_FULL_NAME_CHARS
    if len(value) < _MIN_ACCOUNT_CHARS or not _ACCOUNT.fullmatch(value):
        return False
    return value.lower() not in COMMON_ACCOUNTS and not _is_ordinary(value)


def names_alone(data: bytes, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans, of names only those that are no part of a longer word.

    A text that is only a path keeps names: the group may be named after it, also in other archives.
    """
    is_path = _PATH.match(data) is not None
    for span in spans:
        if span.rule not in NAME_RULES or (
            not is_path
            and not (
                _BEFORE.search(data[max(0, span.start - 2) : span.start])
                or _AFTER.match(data, span.end)
            )
        ):
            yield span


def _is_ordinary(word: str) -> bool:
    """Return whether the built-in embedding model has the word as a whole: it is frequent."""
    frequent = _frequent_words()
    return any(form in frequent for form in (word, word.lower(), word.title()))


@cache
def _frequent_words() -> frozenset[str]:
    from tokenizers import Tokenizer  # noqa: PLC0415 - only with a name

    path = files("wordllama") / "tokenizers" / "l2_supercat_tokenizer_config.json"
    vocabulary = Tokenizer.from_str(path.read_text("utf-8")).get_vocab(with_added_tokens=False)
    return frozenset(token.removeprefix("\u2581") for token in vocabulary if token[0] == "\u2581")
