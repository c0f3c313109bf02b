"""What caused a failure, where the agent names both in one sentence."""

import re
from collections.abc import Iterable, Iterator

from turnetl.base.relations import CAUSED_BY
from turnetl.extraction.structural import prose
from turnetl.extraction.structural.findings import (
    FILE,
    SETTING,
    SYMBOL,
    TEST,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.turn_features import TurnFeatures

_RANK = 3
_CUE = re.compile(
    r"\b(?:c[oa]mes? from|stems? from|(?:is|are|was|were) (?:caused by|due to|raised by|from)"
    r"|(?:fail(?:s|ed|ing)?|happen(?:s|ed)?|occur(?:s|red)?) (?:because|since|in|when)"
    r"|(?:is|was) because|because of|root cause (?:is|was))\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:if|may|might|could|probably|perhaps|maybe|would|should|not (?:caused|from|due))\b|\?$",
    re.IGNORECASE,
)
_THE_FAILURE = re.compile(
    r"\b(?:the|this) (?:\w{1,20} ){0,2}(?:failure|error|exception|panic|test|issue)\b",
    re.IGNORECASE,
)
_MIN_NAME = 5
_MAX_SENTENCE = 260


def cause_facts(features: TurnFeatures, failures: Iterable[FactDraft]) -> Iterator[FactDraft]:
    """Yield a fact for each sentence that says from which symbol, setting or file a failure comes.

    Args:
        failures: the FAILED_WITH facts of the turn.
    """
    failed: dict[EntityKey, FactDraft] = {}
    for fact in failures:
        failed.setdefault(fact.source if fact.source.label == TEST else fact.target, fact)
    for sentence in features.sentences if failed else ():
        cue = _CUE.search(sentence)
        if cue is None or _UNSURE.search(sentence):
            continue
        before = sentence[: cue.start()]
        subject = next((one for one in failed if _names(before, failed[one])), None)
        if subject is None and len(failed) == 1 and _THE_FAILURE.search(before):
            (subject,) = failed
        named = features.entities_in(sentence[cue.end() :])
        cause = next((one for one in named if one.label in {SYMBOL, SETTING, FILE}), None)
        if subject is not None and cause is not None:
            said = prose.shorten(sentence, _MAX_SENTENCE)
            text = said if subject.name in said else f"`{subject.name}`: {said}"
            yield FactDraft(_RANK, subject, CAUSED_BY, cause, text, failed[subject].valid_at)


def _names(text: str, fact: FactDraft) -> bool:
    """Whether a text names the test, its error by type, or the rule of a linter."""
    keys = (fact.source, fact.target) if fact.source.label == TEST else (fact.target,)
    names = (re.split(r"[/: ]", key.name)[0] for key in keys)
    return any(len(name) >= _MIN_NAME and name in text for name in names)
