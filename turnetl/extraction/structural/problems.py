"""Problems in texts: what people report, and what caused a failure.

A cause counts where the agent states it and names a symbol, a setting or a file.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from turnetl.base.relations import CAUSED_BY
from turnetl.episode_text import prose
from turnetl.extraction.structural import decision_cues as cues
from turnetl.extraction.structural import decisions
from turnetl.extraction.structural.decisions import Statement, StatementKind, TurnEvidence
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
_FAILS = r"(?:(?:fail|break|crash|panic|happen|occur|error|throw|appear)(?:s|ed|ing)?|broke)"
_CUES = (
    re.compile(
        r"\b(?:the )?culprit(?: (?:is|was)\b|:)|\b(?:there|here|that)(?:'s| is| was) the (?:bug"
        r"|issue|problem|culprit|cause)(?:: |[.!] )|\b(?:root |real |actual |underlying )cause(?: "
        r"(?:is|was)(?: that)?\b|:)|^(?:the )?(?:\w{1,20} )?(?:cause|bug|problem|issue)[*]{0,2}: "
        r"|\bUrsache (?:ist|war|dafür ist|liegt)\b|\bcausa (?:raíz|principal)\b(?: (?:es|era))?"
        r"|(?:根本原因|原因)(?:是|在于|\uff1a|:)|(?:原因は|根本原因:|が原因)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:the|this) (?:bug|problem|issue|error|failure|mistake) (?:is|was) in [^:`]{1,30}: "
        r"|\b(?:found|identified|is|was|see|understand) the (?:\w{1,20} ){0,2}(?:issue|bug|problem"
        r"|cause|culprit)(?:: |\s[\u2013\u2014-] )|\b(?:the|this) (?:\w{1,20} ){0,2}(?:issue"
        r"|problem|bug) (?:is|was) (?=`)|\bthe reason (?:\w{1,20} ){0,4}(?:is|was) that\b|\bwhy "
        r"(?:it|this|the (?:\w{1,20} ){0,2}\w{1,20}) (?:fails|failed): |\b(?:the|this) "
        r"(?:\w{1,20} ){0,2}(?:problem|issue|bug|error|failure|crash|culprit|mismatch) (?:(?:is"
        r"|was) (?:that|because|caused by|due to|in)|happens? (?:because|since|when|in))\b"
        r"|\b(?:failure|error|crash|panic|exception)s? (?:(?:is |was |are |were )?due to|(?:is|was"
        r"|are|were) from)\b"
        rf"|\b(?:{_FAILS}|(?:is|was)) (?:because|since|due to)\b|\b(?:comes?|came|stems?) from\b"
        r"|\b(?:is|was|are|were) (?:caused|raised|thrown|introduced|triggered) by\b|\b(?:das "
        r"Problem (?:ist|war)|(?:scheitert|fehl), (?:weil|da)|liegt daran|verursacht)\b|\b(?:el "
        r"problema (?:es|era|está)|fall(?:a|aba|an) porque|se debe a|error viene)\b|问题(?:是|在于"
        r"|出在|\uff1a)|(?:失败|报错|错误).{0,8}(?:因为|由于|来自)|問題は",
        re.IGNORECASE,
    ),
)
"""The surer ones first; what they introduce is the cause."""
_ANNOUNCED = re.compile(
    r"(?:^|\b(?:I|I've|I have|I can) )(?:found|identified|see|understand) (?:it|the (?:\w{1,20} "
    r"){0,2}(?:issue|bug|problem|cause|culprit))[.!:]?$|^(?:there|here|that)(?:'s| is| was) the "
    r"(?:issue|bug|problem|cause|culprit)[.!:]?$|^(?:now )?the (?:issue|bug|problem|cause) is "
    r"(?:now )?clear(?: now)?[.!:]?$|^(?:the )?(?:root |real )?cause (?:found|identified)[.!:]?$",
    re.IGNORECASE,
)
"""A sentence after which the cause follows, in one of the next two."""
_REASONED = re.compile(r"^(?:This|It|That)\b[^`]{1,60}\b(?:because|since) ")
_CAUSES = re.compile(
    r",? (?:which (?:causes?|caused|breaks?|broke|makes?|made|is why)|causing|so) (?=(?:the|these"
    r"|this|those|all|both)\b)| (?:is|was) (?=the (?:\w{1,20} )?(?:culprit|cause)\b)",
    re.IGNORECASE,
)
"""What stands before is the cause, if it is of the thing that the sentence begins with."""
_SUBJECT = re.compile(r"^(?:(?:The|But|And|So|Now|Because|It turns out(?: that)?) ){0,2}(?=`)")
_UNSURE = re.compile(
    r"\b(?:if|may|might|could|probably|perhaps|maybe|would|should|likely|seems?|suspect"
    r"|possibl[ey]|not (?:caused|from|due|because)|pre-existing|unrelated|separate|vielleicht"
    r"|wahrscheinlich|könnte|möglicherweise|quizás|probablemente|podría)\b|[?\uff1f]$|可能|也许"
    r"|或许|应该|かもしれ|おそらく|たぶん",
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
    r"|tests?|issue|problem|bug|crash|build|check|lint|cause|reason)\b"
    rf"|^(?:so |and |but |why )?(?:it|this|that) {_FAILS}\b|\bc(?:ause|ulprit)\b|Ursache"
    r"|Problem|Fehler|causa|problema|原因|问题|问題|問題|错误|失败|失敗",
    re.IGNORECASE,
)
_MISBEHAVES = (
    r"freezes?|froze|chokes?|stalls?|flickers?|vanish(?:es|ed)?|disappear(?:s|ed)|bounces?|loses"
    r"|swallows|corrupts|truncates|mangles|ignores|leaks|(?:charges?|sends?|shows?|adds?) .{3,40} "
    r"(?:twice|two times)"
)
"""Verbs of a thing that does not do what it is for."""
_CHANGES = (
    r"(?:deploy|release|upgrad|updat|merg|migrat|chang|refactor|switch|mov|version|commit|rebas)"
)
_MIN_NAME, _MIN_CAUSE = 5, 25
_MAX_SENTENCE = 260
_REPORTED = cues.cue(
    r"\b(?:i|we|he|she|they|it|claude|that|this|which|\S+s|the (?:\S+ ){1,4}|\S+ branch|\S+ )(?: "
    r"?(?:is|are|was|were|has|have|had|keeps?|now|still|just|always|also|sometimes|suddenly"
    r"|again)){0,3} ?(?<!\bthe )(?<!\ban )(?<!\ba )(?<!\bmy )(?<!\byour )(?:fail(?:s|ed|ing)"
    r"|crash(?:es|ed|ing)|hang(?:s|ing)?\b|hung|broken?|breaks|stuck|throws|threw|errors out"
    r"|times? out|timed out|(?:does|do|did|is|are|was)(?:n't| not) work(?:ing)?|stopped working"
    r"|not working)\b(?! (?:to )?open| early| fast| loudly| hard\b)",
    r"\b(?:get|gets|got|getting|see|seeing|saw|had|have|has|gave me|gives|hit|hitting|throws?"
    r"|threw|shows?|with|is|there(?:'s| is| are)) (?:this |an?|the |these |some |following |\S+ "
    r"){0,3}(?:errors?|warnings?|exceptions?|failures?|stack ?traces?|panics?)\b",
    r"\b(?:the|one|another|an?) (?:\S+ ){0,2}(?:issue|problem|bug)\b.{0,60}\b(?:is|was|are)\b(?! "
    r"(?:fixed|solved|gone|resolved))",
    r"\bthere(?:'s| is| are| was| were) (?:still |also |now )?(?:an?|some|another) (?:\S+ "
    r"){0,2}(?:issue|problem|bug|race|leak|regression)\b",
    r"\bwhy (?:is|are|does|do|did|would|was|were|has|have) .{2,120}\b(?:not?|never|still|stale"
    r"|empty|missing|wrong|fail\w*|slow|broken|twice|error\w*|deleted|lost|gone|different|crash\w*"
    r"|hang\w*|null|undefined|invalid)\b",
    r"\b(?:i|it|we|claude|the \S+(?: \S+)?) (?:couldn't|could not|can't|cannot|was unable to|is "
    r"unable to|am unable to|wasn't able to) (?!we\b|i\b|you\b|remember|think|tell|wait|say|decide"
    r"|believe|help)[a-z]{3,}",
    r"\b(?:looks?|seems?|is|are|feels?|appears?)(?: to be| still| now| pretty| really| totally| "
    r"completely| very| a bit| quite){0,2} (?:broken|wrong|off|weird|stale|missing|truncated"
    r"|garbled|corrupt(?:ed)?|incorrect|laggy|flaky|unusable|annoying|confusing|blank|frozen"
    r"|unresponsive|invisible|janky|sluggish|choppy|hard to (?:read|debug|use|follow|find|see)"
    r"|slow|duplicated|too (?:slow|small|big|long|large|noisy|verbose))\b(?! in advance)",
    r"\b(?:called|shown|sent|executed|fires|fired|rendered|counted|printed|logged) (?:twice"
    r"|(?:two|multiple|several) times|more than once)\b",
    rf"\b(?:{_MISBEHAVES})\b|\b(?!this\b)[a-z]{{3,}}s (?:still |always |now |often )?fail\b",
    r"^(?!.*\b(?:I|we) (?:have|use|work|are|run|do|did|moved|switched)\b).*\bsince (?:yesterday"
    rf"|this (?:morning|week)|last \w+|(?:the|we|i|your|my) (?:\w+ )?{_CHANGES})",
    r"\b(?:it|that|this|i|we|they|(?:the|my|our) \S+(?: \S+)?) still (?:fails?|see|get|shows?|says"
    r"|returns?|crash(?:es)?|hangs?|breaks?|throws?|happens?|appears?)\b",
    r"\b(?:the|my|our|(?!this\b)[a-z]{3,}s) (?:[\w-]+ ){0,4}?(?:don't|doesn't|didn't|won't|can't"
    r"|cannot) (?!need|have|want|matter|support|use|include|be\b)[a-z]{2,}",
    r"\b(?:is|are|was|were|gets?) (?:\w+ed )?(?:down|gone|unreadable|untested|unreachable"
    r"|undefined|unhandled|wrongly|incorrectly|twice)\b",
    r"\b(?:is|are|was) (?:empty|blank|reset|null|undefined)\W*$",
    r"\bwhy (?:am|is|are|was|were|does|do|did) .{2,80}\b(?:delet|los(?:e|ing)|logged|log out|drop"
    r"|skip|ignor|duplicat|overwr|reset|reload|twice|but not)",
    r"\bsame (?:error|problem|issue)\b|\b(?:take|takes|took|runs?) forever\b",
    r"\b(?:hours?|days?|minutes?|seconds?) (?:too )?(?:late|early|off|behind)\b",
    r"\b(?:customers|users|people|clients|everyone)\b.{0,30} (?:are (?:seeing|getting|complaining)"
    r"|complain|report(?! to\b)|(?:see|get) (?:an? |the )?(?:\w+ )?(?:errors?|old|wrong|empty"
    r"|blank|white|no|nothing|timeouts?|twice|two|duplicates?|[45]\d\d)\b)",
    r"^\W*on (?:my|mobile|small|safari|firefox|chrome|windows|mac\w*|ios|android"
    r"|linux)\b(?!.*\b(?:we|use|should|must|please|let's|want|instead|lives?|has|have|works)\b)",
    r"\b(?:goes|went|turns?|turned|gone|becomes?|became) (?:stale|missing|blank|black|wrong|empty"
    r"|slow)\b",
    r"\b(?:ci|builds?|pipelines?|main|checks?|workflows?) (?:is|are|went|goes|turned)(?: still| "
    r"now| all)? red\b",
    r"\b(?:annoying|annoys|frustrating|confusing|makes .{2,60} (?:harder|difficult|impossible"
    r"|slow))\b",
    r"\bhelp (?:me )?(?:to )?understand why\b|\b(?:worries|bothers|annoys|confuses) (?:me|us)\b",
    r"\btakes? (?:about |over |more than )?\d+(?:\.\d+)? ?(?:s|seconds?|m|min(?:utes?)?|hours?)\b",
    r"\byou(?:'ve| have)? (?:just |also |again )?(?:broke(?:n)?|deleted|removed|overwrote|lost"
    r"|duplicated)\b",
    r"\bnoticed (?:that |you |the |it |an? )",
    r"^\W*(?:q: |and |but |so )?why\b.{3,140}(?:\b(?:not|no|never|still)\b|n't\b)",
    r"\bwill (?:cause|break|fail|crash|result in|panic|leak|never)\b|\bcauses? (?:\S+ "
    r"){0,3}(?:failures?|errors?|crash\w*)\b",
    r"\b(?:nothing happens|(?:is|are|was) (?:cut off|overwritten|ignored|swapped|reversed|skipped"
    r"|wrongly \w+|duplicated|blurry|misaligned)|grows? (?:to|without|until|endlessly))\b",
    r"\bnever (?:executes?|runs?|gets|called|reached|returns|read|checked|validated|closed|handled"
    r"|goes|comes|ends|finishes|stops|loads|appears|arrives|closes|completes)\b",
    r"(?:'s|\b(?:is|are)) not (?:\w+ing\b(?<!thing)(?<!going)|applied|shown|saved|updated"
    r"|reached|called|executed|validated|checked|handled|closed|escaped)\b",
    r"\bkeeps? (?:on )?(?:re\w+|crash|fail|loop|show|ask|hang|flicker|jump|throw|los)\w*ing\b",
    r"\bI(?:'m| am) (?:seeing|getting|hitting) (?!this\b|that\b|it\b|there\b|the (?:idea|point))",
    r"\b(?:overlaps|overflows|covers|hides|blocks|skips) (?:the|my|our)\b",
    r"\bdoes(?:n't| not) (?:close|work|scroll|stop|react|respond|fire|trigger|refresh|reload"
    r"|re-?render|parse|recogni[sz]e|apply|detect|pick|get|resize|wrap|sort|filter|send|log)\b",
    r"\b(?:has|have|had|shows?|gives?|uses?) the wrong\b",
    r"\b[a-z]+s\b.{0,60} (?:when|whenever|every time|each time|as soon as) I [a-z]+",
    r"\b(?:says?|shows?|is|are|reports?|returns?)\b.{3,80} (?:although|even though)\b",
    r"\btwice as (?:long|slow)\b|\b(?:arrives?|appears?|runs?|fires?|shows? up) twice\b",
    r"\b(?:is|are|was|were|gets?|got) lost\b|\bjumps (?:back|to)\b|\bnothing (?:is|was|gets)\b",
    r"\byour (?:last )?(?:change|commit|edit|fix)s? (?:removed|broke|deleted|changed)\b",
    r"^error: \S|\bhas an? (?:empty|extra|duplicate|missing) ",
    r"\b(?:does nothing|nothing happens|(?:doesn't|does not|didn't) do anything)\b",
    r"\b(?:i|we) (?:get|see|got|saw) (?:an? )?(?:[45]\d\d|empty|blank|white|wrong|timeouts?)\b",
    r"\b(?:(?:would|does|do|did|will) not(?: now)?|doesn't|don't|didn't|won't) (?:surface|show"
    r"|appear|render|load|start|save|update|respond|return|compile|build|match|open|persist|exist"
    r"|find)\b",
    r"\b(?:shows?|showing|returns?|returning|finds?|finding|prints?|printing) (?:no|nothing|the "
    r"wrong|an? (?:empty|wrong|blank|404|500))\b",
    r"\b(?:schlägt fehl|(?:funktioniert|geht|klappt|lädt|startet|reagiert) nicht|kaputt"
    r"|fehlermeldung|(?:bricht|stürzt) .{0,60}\bab|hängt(?: sich)?|no (?:funciona|carga|abre"
    r"|guarda|aparece|responde|arranca)|se (?:cuelga|cierra|rompe)|falla|da error|ne (?:marche"
    r"|fonctionne) pas)\b|报错|不(?:工作|能用|起作用)|失败了|出错|崩溃|卡(?:住|死)|没有?反应|打不开"
    r"|丢失|白屏|エラーが|反応しない|動(?:かない|きません)|失敗し(?:た|ます)|表示され(?:ない"
    r"|ません)|落ち(?:る|ます)|固まり?",
)
ASKS_WHY = cues.cue(r"\bwhy\b|\bhow come\b|\bwarum\b|\bpor qu[eé]\b|为什么|なぜ|どうして")
_WHY = cues.cue(r"^\W*(?:but |so )?why\W*\?\W*$")
_REVIEW = cues.cue(
    r"\bconsider (?:either )?(?:an? |the |\w+ing\b)|\b(?:we|I|I'd) (?:suggest|recommend)\b"
    r"|^(?:suggestion|severity|nit)\b"
)
"""A comment of a reviewer: it begins with the problem."""
_HYPOTHETICAL = cues.cue(
    r"^\W*(?:(?:yes|yeah|no|and|but|so|also|like)\b\W*){0,2}(?:if|when(?:ever)?(?! (?:i|we|you"
    r"|users?|an? user)\b)|in case|should|what (?:if|happens)|suppose|unless)\b(?!.{0,80}\b(?:i"
    r"|we) (?:get|got|see|saw)\b)",
    r"\b(?:if|in case|when) (?:the|we|it|there|a|an|that|this|\S+) (?:\S+ ){0,4}(?:fails?|failed"
    r"|crash\w*|is missing|throws?|can't|cannot)\b",
    r"\b(?:does|do|did|will|would|could|can|is|are|should) (?:it|this|that|they|we|the \S+) "
    r"(?:\S+ )?(?:fail|crash|break|work|hang)\b",
    r"\b(?:should|must|could|might|may) (?:then |now |also |just |rather |always )?(?:fail|throw"
    r"|error|crash|break|return an error)\b",
    r"(?<!, )\bno (?:errors?|issues?|problems?|failures?|warnings?)\b|\bwithout (?:any )?(?:errors?"
    r"|issues?)\b|\b(?:was|were|is|are|been|now) (?:fixed|solved|resolved)\b",
    r"\b(?:error|exception|failure|warning) (?:handling|message|log(?:ging|s)?|code|page|type"
    r"|class|path|case|state|toast|boundary|boundaries)s?\b",
    r"^\W*we (?:use|have|keep|chose|need) .{3,80} because\b|^\W*(?:imagine|assume|say,)\b",
    r"\b(?:by design|on purpose|intentional(?:ly)?|deliberate(?:ly)?|as (?:planned|specified"
    r"|expected|intended|designed|documented)|(?:that|which|this) is (?:what|how) (?:we|I|it|\w+)"
    r"|keep it|daemon)\b|, (?:it looks |that's )?(?:great|perfect|nice|thanks)\b",
    r"\b(?:users|people|customers|colleagues|clients|docs|team) (?:don't|do not|won't)\b",
    r"^\W*(?:please |can you |could you )?(?:fix|add|write|implement|create|make|update|handle"
    r"|refactor|ensure|change|build|generate|use|check|review|test|verify|remove|rename|replace"
    r"|tell me|show me|take a look|explain|find out)\b|\bI (?:only |just )?want\b|\b(?:check|see"
    r"|test|verify) (?:if|whether)\b",
)
_REPORT_TAIL = re.compile(
    r"(?: -|,? (?:and|so|but))?[,;.]? (?:(?:can|could|would) (?:you|we)|let's|please|(?:have"
    r"|take) a look|(?:you (?:should|could) )?consider|(?:we|I|I'd) (?:suggest|recommend)|(?<=- "
    r")(?:commit|push|fix) (?:it|that|this))\b[^:\n]*$|, (?:did|do|does|is|are|was|any|should|what"
    r"|how|where|shall) [^:,\n]*\?$",
    re.IGNORECASE,
)
"""What a report asks for; no part of the problem."""
_MIN_REPORT, _MAX_REPORTS, _MAX_REVIEW = 8, 3, 2500
_IN_CHAT = TurnEvidence(in_project=True, edited_files=False)


def reported(prompt: str, context: str = "") -> list[Statement]:
    """Return at most three problems that a prompt reports, also by pasting a review."""
    found: list[Statement] = []
    before = ""
    clauses = decisions.clauses_of(decisions.typed(prompt, _MAX_REVIEW))
    is_review = any(_REVIEW.search(clause) for clause in clauses)
    for clause in clauses:
        problem = _REPORT_TAIL.sub("", decisions.without_lead(clause))
        if _WHY.search(clause):
            found.append(Statement(StatementKind.REPORT, decisions.joined(before, clause)))
        elif _is_reported(problem) and not _decides(clause):
            alone = decisions.understood(problem, before, "" if is_review else context)
            alone = decisions.cleaned(alone)
            if decisions.has_subject(alone):
                found.append(Statement(StatementKind.REPORT, alone, clause))
        before = clause
    if is_review:
        # It begins with the problem.
        first = _REPORT_TAIL.sub("", prose.shorten(clauses[0], decisions.MAX_LENGTH))
        first = decisions.cleaned(first)
        vetoes = (_HYPOTHETICAL, cues.QUESTION, cues.OPEN_QUESTION)
        is_about = cues.CODE_NAME.search(first) and not decisions.any_of(vetoes, first)
        found = found[:1] or ([Statement(StatementKind.REPORT, first)] if is_about else [])
    return decisions.distinct(found)[:_MAX_REPORTS]


def _decides(clause: str) -> bool:
    """Return whether a clause says what is to be, not what is wrong."""
    is_choice = decisions.any_of((cues.USER_RULE, cues.REJECTED), clause)
    return is_choice and bool(decisions.user_kinds(clause, _IN_CHAT))


def _is_reported(clause: str) -> bool:
    if not _MIN_REPORT <= len(clause) <= decisions.MAX_LENGTH:
        return False
    if cues.QUESTION.search(clause) and not ASKS_WHY.search(clause):
        return False
    return bool(_REPORTED.search(clause)) and not _HYPOTHETICAL.search(clause)


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
        elif (follows := _CAUSES.search(sentence)) and (start := _SUBJECT.match(sentence)):
            yield len(_CUES), sentence[follows.end() :], sentence[start.end() : follows.start()]
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
