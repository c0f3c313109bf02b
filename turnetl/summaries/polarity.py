"""Whether a sentence denies what it names: the cue for a fact that contradicts an earlier one."""

import re
from functools import lru_cache

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|nothing|\w+n't)\b"
    r"|\b(?:no longer|instead of|rolled back|reverted|removed|dropped|disabled|abandoned|undone)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def is_negative(text: str) -> bool:
    """Return whether the sentence denies something; two negations cancel each other."""
    return len(_NEGATION.findall(text)) % 2 == 1
