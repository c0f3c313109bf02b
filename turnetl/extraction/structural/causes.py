"""What caused a failure, where the agent states it and names a symbol, a setting or a file."""

import re
from collections.abc import Iterable, Iterator, Sequence

from turnetl.base.relations import CAUSED_BY
from turnetl.episode_text import prose
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
_FAILS = r"(?:fail|break|crash|panic|happen|occur|error|throw|appear)(?:s|ed|ing)?"
_CUES = (
    re.compile(
        r"\b(?:root |real |actual |underlying )cause(?: (?:is|was)(?: that)?\b|:)"
        r"|\bUrsache (?:ist|war|dafür ist|liegt)\b|\bcausa (?:raíz|principal)\b(?: (?:es|era))?"
        r"|(?:根本原因|原因)(?:是|在于|\uff1a|:)|(?:原因は|根本原因:|が原因)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:the|this) (?:bug|problem|issue|error|failure|mistake) (?:is|was) in [^:`]{1,30}: "
        r"|\b(?:found|identified|is|was) the (?:\w{1,20} ){0,2}(?:issue|bug|problem|cause"
        r"|culprit)(?:: |\s[\u2013\u2014-] )"
        r"|\b(?:the|this) (?:\w{1,20} ){0,2}(?:problem|issue|bug|error|failure|crash|culprit"
        r"|mismatch)"
        r" (?:(?:is|was) (?:that|because|caused by|due to|in)|happens? (?:because|since|when|in))\b"
        r"|\b(?:failure|error|crash|panic|exception)s? (?:is |was |are |were )?due to\b"
        rf"|\b(?:{_FAILS}|(?:is|was)) (?:because|since|due to)\b|\b(?:comes?|came|stems?) from\b"
        r"|\b(?:is|was|are|were) (?:caused|raised|thrown) by\b"
        r"|\b(?:das Problem (?:ist|war)|(?:scheitert|fehl), (?:weil|da)|liegt daran|verursacht)\b"
        r"|\b(?:el problema (?:es|era|está)|fall(?:a|aba|an) porque|se debe a|error viene)\b"
        r"|问题(?:是|在于|出在|\uff1a)|(?:失败|报错|错误).{0,8}(?:因为|由于|来自)|問題は",
        re.IGNORECASE,
    ),
)
"""The surer ones first; what they introduce is the cause."""
_ANNOUNCED = re.compile(
    r"(?:^|\b(?:I|I've|I have) )(?:found|identified) (?:it|the (?:\w{1,20} ){0,2}(?:issue|bug"
    r"|problem|cause|culprit))[.!:]?$"
    r"|^(?:now )?the (?:issue|bug|problem|cause) is (?:now )?clear(?: now)?[.!:]?$",
    re.IGNORECASE,
)
"""A sentence after which the cause follows, in one of the next two."""
_REASONED = re.compile(r"^(?:This|It|That)\b[^`]{1,60}\b(?:because|since) ")
_CAUSES = re.compile(
    r",? (?:which (?:causes?|caused|breaks?|broke|makes?|made|is why)|causing|so)"
    r" (?=(?:the|these|this|those|all|both)\b)",
    re.IGNORECASE,
)
"""What stands before is the cause, if it is of the thing that the sentence begins with."""
_SUBJECT = re.compile(r"^(?:(?:The|But|And|So|Now|Because) ){0,2}(?=`)")
_UNSURE = re.compile(
    r"\b(?:if|may|might|could|probably|perhaps|maybe|would|should|likely|seems?|suspect|possibl[ey]"
    r"|not (?:caused|from|due|because)|pre-existing|unrelated|separate|vielleicht|wahrscheinlich"
    r"|könnte|möglicherweise|quizás|probablemente|podría)\b|[?\uff1f]$"
    r"|可能|也许|或许|应该|かもしれ|おそらく|たぶん",
    re.IGNORECASE,
)
_NOT_ALONE = re.compile(
    r"\b(?:lines? \d+|step \d+|option|above|below|earlier|my|our|I|I'm|I've|we|we're|you|your|next"
    r"|(?:the )?(?:other|second|same) one)\b|:$",
    re.IGNORECASE,
)
"""What only the reader of the turn understands."""
_POINTS = re.compile(r"^(?:it|this|that|they|these|those|he|which|there)\b", re.IGNORECASE)
_THE_FAILURE = re.compile(
    r"\b(?:the|this|these|those|all|both) (?:\w{1,20} ){0,2}(?:failures?|errors?|exception|panic"
    r"|tests?|issue|problem|bug|crash|build|check|lint|cause)\b|\bcause\b|Ursache|Problem|Fehler"
    r"|causa|problema|原因|问题|问題|問題|错误|失败|失敗",
    re.IGNORECASE,
)
_MIN_NAME, _MIN_CAUSE = 5, 25
_MAX_SENTENCE = 260


def cause_facts(features: TurnFeatures, found: Iterable[FactDraft]) -> Iterator[FactDraft]:
    """Yield for each failure at most the one fact that says which thing of the project caused it.

    Args:
        found: the FAILED_WITH facts of the turn; without any, its REPORTED facts.
    """
    failed = _failed(found)
    stated: dict[EntityKey, tuple[int, FactDraft]] = {}
    for rank, effect, cause in _causal(features.sentences if failed else ()):
        for fact in _stated(features, failed, effect, cause):
            # The agent corrects itself: of equally sure sentences the last one holds.
            known = stated[fact.source][0] if fact.source in stated else len(_CUES) + 2
            if rank < known or rank == known <= len(_CUES):
                stated[fact.source] = rank, fact
    yield from (fact for _, fact in stated.values())


def _causal(sentences: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield how sure a statement of a cause is, what it says failed, and the cause."""
    announced, left = "", 0
    for sentence in sentences:
        if _UNSURE.search(sentence):
            left = 0
            continue
        found = (cue.search(sentence) for cue in _CUES)
        first = next(((rank, match.end()) for rank, match in enumerate(found) if match), None)
        if first is not None:
            rank, end = first
            yield rank, sentence[:end], sentence[end:]
        elif (follows := _CAUSES.search(sentence)) and _SUBJECT.match(sentence):
            yield len(_CUES), sentence[follows.end() :], sentence[: follows.start()]
        elif left:
            yield len(_CUES) + 1, announced, _REASONED.sub("", sentence)
        announced, left = (
            (sentence, 2) if _ANNOUNCED.search(sentence) else (announced, max(0, left - 1))
        )


def _failed(found: Iterable[FactDraft]) -> dict[EntityKey, FactDraft]:
    failed: dict[EntityKey, FactDraft] = {}
    for fact in found:
        failed.setdefault(fact.source if fact.source.label == TEST else fact.target, fact)
    return failed


def _stated(
    features: TurnFeatures,
    failed: dict[EntityKey, FactDraft],
    effect: str,
    cause: str,
) -> Iterator[FactDraft]:
    after = cause.strip(" :,*")
    named = [one for one in failed if _names(effect, one, failed[one])]
    if not named and len(failed) == 1 and _THE_FAILURE.search(effect):
        named = [*failed]
    things = features.entities_in(after)
    causes = [one for one in things if one.label in {SYMBOL, SETTING, FILE}]
    if (
        len(named) != 1
        or not causes
        or _NOT_ALONE.search(after)
        or _POINTS.match(after)
        or causes[0].name in named[0].name
    ):
        return
    (subject,) = named
    said = prose.shorten(after, _MAX_SENTENCE).rstrip(".")
    fact = failed[subject]
    at = fact.valid_at or features.turn.started_at
    verb = "failed because of" if subject.label == TEST else "was caused by"
    text = f"`{subject.name}` {verb} `{causes[0].name}`"
    text += f": {said}" if len(after) >= _MIN_CAUSE else ""
    yield FactDraft(_RANK, subject, CAUSED_BY, causes[0], text, at)


def _names(text: str, subject: EntityKey, fact: FactDraft) -> bool:
    """Whether a text names the test, its error by type, or the rule of a linter."""
    keys = (fact.source, fact.target) if subject.label == TEST else (subject,)
    names = (re.split(r"[/: ]", key.name)[0] for key in keys)
    return any(len(name) >= _MIN_NAME and name in text for name in names)
