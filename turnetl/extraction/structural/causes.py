"""What caused a failure, where the agent states it and names a symbol, a setting or a file."""

import re
from collections.abc import Iterable, Iterator

from turnetl.base.relations import CAUSED_BY
from turnetl.episode_text import prose
from turnetl.extraction.structural import failures
from turnetl.extraction.structural.findings import (
    ERROR,
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
        r"\b(?:the|this) (?:\w{1,20} ){0,2}(?:problem|issue|bug|error|failure|crash"
        r"|culprit|mismatch)"
        r" (?:(?:is|was) (?:that|because|caused by|due to|in)|happens? (?:because|since|when|in))\b"
        rf"|\b(?:{_FAILS}|(?:is|was)) (?:because|since|due to)\b|\b(?:comes?|came|stems?) from\b"
        r"|\b(?:is|was|are|were) (?:caused|raised|thrown) by\b"
        r"|\b(?:das Problem (?:ist|war)|(?:scheitert|fehl), (?:weil|da)|liegt daran|verursacht)\b"
        r"|\b(?:el problema (?:es|era|está)|fall(?:a|aba|an) porque|se debe a|error viene)\b"
        r"|问题(?:是|在于|出在|\uff1a)|(?:失败|报错|错误).{0,8}(?:因为|由于|来自)|問題は",
        re.IGNORECASE,
    ),
)
"""The surer ones first; what they introduce is the cause."""
_UNSURE = re.compile(
    r"\b(?:if|may|might|could|probably|perhaps|maybe|would|should|likely|seems?|suspect|possibl[ey]"
    r"|not (?:caused|from|due|because)|pre-existing|unrelated|separate|vielleicht|wahrscheinlich"
    r"|könnte|möglicherweise|quizás|probablemente|podría)\b|[?\uff1f]$"
    r"|可能|也许|或许|应该|かもしれ|おそらく|たぶん",
    re.IGNORECASE,
)
_NOT_ALONE = re.compile(
    r"\b(?:lines? \d|step \d|option|above|below|earlier|my|our|I|I'm|I've|we|we're|you|your|next"
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
        found: the FAILED_WITH facts of the turn; without any, the error that its prompt quotes.
    """
    failed = _failed(features, found)
    stated: dict[EntityKey, tuple[int, FactDraft]] = {}
    for sentence in features.sentences if failed else ():
        for rank, cue in enumerate(_CUES):
            match = cue.search(sentence)
            if match is not None and not _UNSURE.search(sentence):
                for fact in _stated(features, failed, sentence, match):
                    # The agent corrects itself: of equally sure sentences the last one holds.
                    if rank <= stated.get(fact.source, (rank,))[0]:
                        stated[fact.source] = rank, fact
                break
    yield from (fact for _, fact in stated.values())


def _failed(
    features: TurnFeatures, found: Iterable[FactDraft]
) -> dict[EntityKey, FactDraft | None]:
    failed: dict[EntityKey, FactDraft | None] = {}
    for fact in found:
        failed.setdefault(fact.source if fact.source.label == TEST else fact.target, fact)
    if not failed:
        prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
        quoted = failures.failures_in_prompt(prompt)[:1]
        failed = {EntityKey(ERROR, one.name): None for one in quoted}
    return failed


def _stated(
    features: TurnFeatures,
    failed: dict[EntityKey, FactDraft | None],
    sentence: str,
    cue: re.Match[str],
) -> Iterator[FactDraft]:
    before, after = sentence[: cue.start()], sentence[cue.end() :].strip(" :,*")
    named = [one for one in failed if _names(before, one, failed[one])]
    if not named and len(failed) == 1 and _THE_FAILURE.search(f"{before}{cue[0]}"):
        named = [*failed]
    things = features.entities_in(after)
    causes = [one for one in things if one.label in {SYMBOL, SETTING, FILE}]
    if (
        len(named) != 1
        or not causes
        or _NOT_ALONE.search(sentence)
        or _POINTS.match(after)
        or causes[0].name in named[0].name
    ):
        return
    (subject,) = named
    said = prose.shorten(after, _MAX_SENTENCE).rstrip(".")
    fact = failed[subject]
    at = fact.valid_at if fact is not None else features.turn.started_at
    verb = "failed because of" if subject.label == TEST else "was caused by"
    text = f"`{subject.name}` {verb} `{causes[0].name}`"
    text += f": {said}" if len(after) >= _MIN_CAUSE else ""
    yield FactDraft(_RANK, subject, CAUSED_BY, causes[0], text, at)


def _names(text: str, subject: EntityKey, fact: FactDraft | None) -> bool:
    """Whether a text names the test, its error by type, or the rule of a linter."""
    keys = (fact.source, fact.target) if fact is not None and subject.label == TEST else (subject,)
    names = (re.split(r"[/: ]", key.name)[0] for key in keys)
    return any(len(name) >= _MIN_NAME and name in text for name in names)
