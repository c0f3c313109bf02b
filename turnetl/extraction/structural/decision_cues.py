"""The wording of decisions, preferences and rejections. The patterns are part of the recipe."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Cue:
    """A pattern, compiled at its first use: the recipe needs only its text."""

    pattern: str

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.pattern, re.IGNORECASE).search


def _any(*patterns: str) -> Cue:
    return Cue("|".join(patterns))


QUESTION = _any(r"\?\W*$", r"^\W*(?:should|shall|would|could) (?:I|we|it|this|that|there)\b")
DECIDED = _any(
    r"\b(?:I|we)(?:'ve| have)? (?:decided|chose|opted|agreed) (?!to (?:check|look|try|see)\b)",
    r"^(?:decided|opted|settled) (?:to|on|against|for)\b|^(?:chose|went with) \S",
    r"\bdecision(?: is| was)?: ",
)
"""In the first person and the past: nothing that follows makes it undecided."""
DECIDING = _any(
    r"\b(?:I|we)(?:'ll| will|'m|'re| am| are)? (?:going |go |stick |sticking |settled |settle )"
    r"(?:with|on|to using)\b",
)
PREFERRED = _any(
    r"\bI(?:'d| would)?(?: really| much| strongly)? (?:prefer|rather)\b"
    r"(?! to (?:know|see|hear|understand))",
    r"\bmy preference\b",
    r"\bI (?:always|never|usually) (?:want|use|write|like)\b",
    r"\bI (?:hate|love|like) (?:it )?(?:when|to have|having)\b",
)
STANDING_ORDER = _any(
    r"\bfrom now on\b",
    r"\bin (?:the )?future,? (?:please|always|never|don't|do not)\b",
    r"\bplease (?:always|never) [a-z]+",
    r"^(?:[^,.]{1,60}, )?(?:always|never) (?:ask|commit|push|use|run|write|add|start|create)\b",
    r"\bkeep (?:our|my|your|all) [^.?!]{3,80}\bin\b",
    r"\bstop (?:asking|adding|using|creating|writing|committing)\b",
)
REJECTED = _any(
    r"\boverkill\b",
    r"\bnot worth (?:it|the|doing)\b",
    r"\bjust adds? (?:complexity|noise|overhead|risk)\b",
    r"\b(?:to+ much|needless|unnecessary|unneeded) (?:complexity|risk|overhead|noise)\b",
    r"\bI (?:don't|do not) (?:want|like)\b(?! to (?:bother|be|sound|interrupt))",
    r"\b(?:I|we) (?:rejected|declined|discarded|ruled out|decided against)\b",
)
UNDECIDED = _any(
    r"\b(?:if you|would|you could|you can|you'd|you'll|could|might|may|maybe|perhaps|possibly"
    r"|alternatively|options?|should (?:I|we)|shall|do you|can you|whether|let me know|not sure"
    r"|wonder(?:ing)?|either|consider|recommend\w*|suggest\w*|propos\w+|depends?|assum\w+"
    r"|unlikely|likely|probably|seems?|appears?|or just|or should)\b",
)
STEP = _any(
    r"^(?:(?:now|next|first|then|ok|okay|good|great|perfect|so|also|and|actually|wait|hmm|ah|yes"
    r"|right)\b[,.!:]? ?){0,3}"
    r"(?:let(?:'s| me| us)\b|I(?:'ll| will| need| want| have| can| see|'m| am|'ve)\b"
    r"|we (?:need|have)\b|need to\b|looking\b|checking\b|running\b|committing\b|update\b|add\b"
    r"|run\b|fix\b|create\b)",
    r"\blet me\b",
)
ASIDE = _any(
    r"\b(?:tests?|testing|tested|comments?|docs?|docstrings?|readme|changelog|diagrams?|typos?"
    r"|lint\w*|nolint|examples?|verif\w+|commit message|master plan)\b|document(?:s|ed|ation)?\b",
    r"_test\.|\btest_|\bTest[A-Z]\w",
)
REPORT = _any(
    r"^(?:this|that|it|which|these|those)\b.{0,20}?"
    r"\b(?:gives?|means?|makes?|ensures?|allows?|lets|prevents?|avoids?|keeps?|shows?|matches)\b",
    r"^(?:the )?(?:\w+ )?(?:problems?|issues?|concerns?|root cause|answer|insight|critical|verdict"
    r"|results?|summary|bugs?|impact|risks?|notes?|warning|important|clarification|before|old"
    r"|current(?:ly)?|previous(?:ly)?)\b",
    r"\bshould (?:now |also |all )?(?:work|pass|fix|see|have|look|do (?:it|that|the trick|what)"
    r"|be (?:fine|good|ok|okay|able|better|done|working|noted|ready|clear|visible|gone|enough))\b",
    r"\b(?:was|were|used to|originally|previously|currently|existing)\b",
)
AGENT_CHANGE = _any(
    r"^(?:changed|switched|replaced|inverted|swapped|migrated|converted|downgraded|upgraded"
    r"|pinned|relaxed|tightened|defaulted|simplified|consolidated)\b"
    r".{2,200}\b(?:to|with|by|from|into|instead of|out of)\b",
    r"^(?:previously|before),? .{5,160}[;,.] ?now\b",
    r"^(?:made|kept|left)\b.{2,120}"
    r"\b(?:allowed|required|optional|mandatory|default|because|since|so that|instead|as is|as-is"
    r"|unchanged|configurable)\b",
)
AGENT_RULE = _any(
    r"\bno longer (?!needs?\b|needed|exists?|used|valid|necessary|possible|required)[a-z]{3,}s\b",
    r"\b(?:should|must)(?:n't| not| never| only| always| automatically) (?!be\b)[a-z]{3,}",
    r"\bshouldn't be [a-z]+ed\b",
    r"\b(?:we|it|this) (?:should|must) (?:use|return|reuse|default|fail|keep|store)\b",
    r"\bby default\b|\bdefaults to\b|\(default: ",
    r"\b(?:falls? back to|degrades? gracefully)\b",
    r"\b(?:has|have) been (?:removed|replaced|renamed|moved|dropped|merged) "
    r"(?:from|by|with|to|into|in)\b",
    r"\bnow (?:automatically|always|only|never|unconditionally) [a-z]+s\b",
    r"\b(?:is|are) now (?:surfaced|required|optional|allowed|disabled|enabled|ignored|rejected"
    r"|skipped|logged|opt-in|opt-out|cached|shared|fixed to|handled)\b",
    r"^(?:since|because) .{10,200}, (?:I|we) should [a-z]+",
    r"^(?!the\b)(?![^:]{0,40}\b(?:fix|clarification|question|problem|issue|concern|recommendation"
    r"|answer|note|cause|line)s?\b)[A-Z][\w /()-]{2,40}: "
    r"(?!(?:added|updated|moved|created|removed|fixed|ran|changed)\b)"
    r".{0,160}\b(?:if|unless|when|only|always|never|automatically)\b",
)
AGENT_ACCEPTED = _any(
    r"\b(?:is|are) (?:fine|enough|sufficient|acceptable|good enough)\b.{0,60}"
    r"\b(?:since|because|for (?:v\d|now))\b",
    r"^(?:since|because) .{5,160}, .{1,60}\b(?:is|are) (?:fine|enough|sufficient|appropriate)\b",
)
AGENT_REASONED = _any(
    r"\b(?:intentionally|deliberately|on purpose)\b",
    r"\b(?:is|are) (?:cleaner|simpler|safer|more robust|more consistent)\b.{0,80}"
    r"\b(?:than|for|because|since)\b",
    r"\b(?:cleanest|simplest|right|safest|pragmatic|correct|proper|better) "
    r"(?:fix|solution|approach|way|choice|option|thing)\b.{0,40}\bis to\b",
)
AGENT_ACT = _any(
    r"\bI(?:'ve| have)? (?:kept|left|used|made|dropped|moved|put|skipped|avoided|removed|named"
    r"|limited|replaced)\b.{3,160}\b(?:because|since|so that|instead of|rather than|to avoid)\b",
)
"""In the first person, the past and with a reason: nothing that follows makes it undecided."""
AGENT_PROMISE = _any(
    r"\b(?:I|we)(?:'ll| will) (?:use|store|treat|drop|avoid|replace|skip)\b.{3,200}"
    r"\b(?:because|since|so that|instead of|rather than)\b",
    r"\bI(?:'ll| will) (?:only|not|never|keep|leave|default to|go with|stick)\b(?! (?:going|you))",
)
CONTRAST = _any(r"\b(?:instead of|rather than|in favou?r of)\b", r"\breplaces the\b")
USER_RULE = _any(
    r"\b(?:we|it|this|that|they|the \S+(?: \S+)?|[A-Z]\w+) "
    r"(?:should|must)(?:n't| not| never| always| only| still| no longer| also| just)? "
    r"(?!be able|be (?:fine|good|better|ok)|work|pass|have been)[a-z]{2,}",
    r"^(?:yes|no|ok|sure|so|but|and|i think|i guess|,| ){0,4}"
    r"(?:should|must) (?:be|not|only|always|never|use|stay)\b",
    r"\bI think (?:that )?(?:we|it|this|the|a|at) .{0,60}\b(?:should|need|don't|just|only|fine)\b",
    r"(?:^|[,;:(.\u2013\u2014-] ?|\b(?:please|just|and|but|we|so) )(?:don't|do not|never|always)"
    r" (?!need|have|know|think|see|get|want|care|worry|use[ds])[a-z]{2,}(?<!ed)\b",
    r"\b(?:we|I)(?:'ll| will)? (?:don't|do not|no longer) need\b",
    r"\bno longer [a-z]{3,}",
    r"\b(?:instead|rather) we\b|\binstead of\b|\brather than\b",
    r"\blet'?s (?:just |rather )?(?:use|keep|go with|stick|switch|move|adopt|drop|avoid|replace"
    r"|skip|remove|support|store|treat|default|leave|make|rely|only|always|never|not|do"
    r"|call|rename|merge|split|ignore|limit|require|allow|enable|disable|log|return|cache"
    r"|track|revert|stay|target|base|set)\b",
    r"^(?:please|just|yes|no|ok|so|and|,| ){0,5}use .{2,60}"
    r"\b(?:instead|not|for|rather|everywhere|only|as)\b",
    r"^(?:please|just|yes|no|ok|so|and|,| ){0,5}"
    r"(?:rename|replace|switch|drop|revert|merge) .{1,80}\b(?:to|with|into|from|by|back)\b",
    r"\bI(?:'d like| want| need| would like) (?:it|this|that|them|the \w+|all) (?:to|not)\b",
    r"\b(?:this|that|it) is fine\b|^leave it\b",
    r"\b(?:go with|no need (?:to|for))\b",
    r"\bif (?:we|there|the|it|files)\b.{3,150}, ?(?:then )?we\b",
)
USER_VERDICT = _any(
    r"\bI (?:think|guess|believe)\b.{0,120}\bwe should(?:n't| not| just| only| rather)? [a-z]+",
    r"\bI (?:don't|do not) think (?:we|it|this|that) (?:needs?|should|has to|have to)\b",
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b",
)
USER_REQUEST = _any(
    r"^(?:please|just|yes|no|ok|so|and|but|,| ){0,5}keep (?!going|working|reading|looking|trying)"
    r"(?:the|this|that|it|our|these|those) .{3,}",
    r"\bcan (?:we|you)\b.{2,200}\b(?:instead|automatically|never|always|rather)\b",
    r"\bcan (?:we|you)? ?(?:just |please )?(?:keep|use our|use the|stick)\b",
    r"\bit should (?:never|always|only|not)\b",
)
USER_FACT = _any(
    r"^\W*(?:what|why|how|when|where|who|which|is|are|does|do|did|has|have|can you check)\b",
    r"\b(?:consider|recommend\w*|suggest\w*|alternatively)\b",
    r"\bI should\b|\b(?:network|ci|build|tests?) should\b",
    r"\b(?:error|fails?|failed|failing|crash\w*)\b|\b(?:the|an?|this) (?:issue|problem|bug)\b",
)
PLANNED = _any(
    r"^(?:change|replace|switch|consolidate|invert|convert|default|rename|disable|enable|drop"
    r"|treat|pass|write all|use|store|keep|remove)\b.{3,120}"
    r"\b(?:to|single|fixed|instead|all|only|for|when|with|as|from)\b",
    r"\bno longer [a-z]{3,}",
    r"\b(?:should|must)(?:n't| not| never| always| only| no longer| still)? "
    r"(?!work|pass|see|be able)[a-z]{2,}",
    r"\bbut keep (?:it|the)\b|^leave it\b",
    r"\b(?:instead of|rather than|by default|defaults to)\b",
)


CLAUSE_END = re.compile(r"(?<=[.!?]) +")
"""Users begin sentences in lower case, too."""
LEAD = re.compile(r"^[^\w`\"'(]+|^`[\w./-]+\.\w{1,5}`(?: -|:) ")
CODE = re.compile(r"`[^`]*`")


def wordings() -> dict[str, frozenset[str]]:
    return {
        name: frozenset({pattern.pattern})
        for name, pattern in globals().items()
        if isinstance(pattern, Cue | re.Pattern)
    }
