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
    r"\bI(?: really| much| strongly)? prefer\b(?! to (?:know|see|hear|understand))",
    r"\bmy preference is\b",
    r"\bI (?:always|never|usually) (?:want|use|write|like)\b",
    r"\bI (?:hate|love|like) (?:it )?(?:when|to have|having)\b",
    r"\b(?:ich bevorzuge|mir ist lieber|prefiero)\b|我(?:更)?喜欢|のほうが好き",
)
WOULD_RATHER = _any(
    r"\bI(?:'d| would)(?: really| much| strongly)? (?:prefer|rather)\b"
    r"(?! (?:to )?(?:know|see|hear|understand|if you|you|wait))"
)
"""A choice about one thing, no preference that lasts."""
STANDING_ORDER = _any(
    r"\bfrom now on\b",
    r"\bin (?:the )?future,? (?:please|always|never|don't|do not)\b",
    r"\bplease (?:always|never) [a-z]+",
    r"^(?:[^,.]{1,60}, )?(?:always|never) (?:ask|commit|push|use|run|write|add|start|create)\b",
    r"\bkeep (?:our|my|your|all) [^.?!]{3,80}\bin\b",
    r"\bstop (?:asking|adding|using|creating|writing|committing)\b",
    r"^\W*(?:and |also |please |but |so ){0,3}(?:remember|keep in mind|be sure"
    r"|make sure you always)\b.{24,}",
    r"^\W*(?:please |and |but |also |so |just ){0,3}(?:don't|do not|never"
    r"|avoid) (?:ever )?(?:commit|push|amend|rebase|force"
    r"|squash|merge|ask|mock|guess|assume|use emojis?|apologi[sz]e|explain|summari[sz]e|touch"
    r"|edit|modify|create|add|write)\b"
    r".{0,40}\b(?:commits?|main|master|branch(?:es)?|tests?|mocks?|comments?|docstrings?|emojis?"
    r"|files?|directly"
    r"|permission|without|unless|until|before|again|ever|anything|yourself|me)\b",
    r"^\W*(?:please |and |also ){0,2}(?:keep|make) (?:each|every|all|your|the) (?:commits?"
    r"|answers?|responses?|prs?|messages?)\b",
    r"\b(?:each|every) (?:commit|time|pr|change|test|function|file)\b.{3,60}\b(?:should|must"
    r"|has to|needs? to|please)\b",
    r"^for (?:the|all|any|each|every) (?!ones?\b|other).{3,80}, (?:please|always|just)\b",
    r"\bin (?:this|our) (?:project|repo\w*|code ?base|team),? we (?:only |always |never )?"
    r"(?:use|write|do|don't|keep|name|follow)\b",
    r"^\W*we (?:(?:always|never|only) [a-z]+|use) .{2,80}"
    r"(?:, not\b|\b(?:instead of|everywhere|for all|in this (?:project|repo\w*))\b)",
    r"\b(?:ab jetzt|in zukunft|immer|niemals|a partir de ahora|siempre|nunca)\b .{4,}"
    r"|以后|今後は|必ず",
)
NOT_NOW = _any(
    r"\b(?:don't|do not) (?:(?:make|edit|change|touch|modify|write|do|implement|start|fix)"
    r"\b.{0,30}\b(?:any(?:thing)?|yet|code|files?)\b(?! (?:that|which))"
    r"|worry|bother|stop|panic)",
    r"\b(?:at some point|some ?day|eventually|probably|later on|for a (?:sec|moment|minute))\b",
)
"""Holds for the answer, or for nobody knows when."""
HEARSAY = _any(
    r"\b(?:according to|the (?:\S+ ){0,2}(?:docs?|documentation|spec\w*|reviewer|readme|error"
    r"|message|comment|article|issue|warning|log) (?:says?|said|states?|mentions?|claims?))\b",
    r"\b(?:he|she|they|someone|somebody|people|claude|copilot|codex|gemini) (?:says?|said|thinks?"
    r"|wrote|suggests?|recommends?)\b",
    r"^\W*(?:understood|got it|noted|acknowledged|done)\b\W",
)
"""What others say, and what an agent echoes."""
DESCRIBED = _any(
    r"\bI (?:accidentally|already|just|have|had|was|did|saw|tried)\b",
    r"\b(?:is|are|was|were|gets?|got|has been) (?:\w+ed|shown|sent|built|read|run|set|done) "
    r"(?:\S+ ){0,3}(?:instead of|rather than)\b",
    r"\b(?:you should (?:see|get|have|be|find|know|notice)|there should (?:be|exist))\b",
)
"""What was done, or what the agent is going to see."""
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
    r"^(?:[A-Z][\w ]{2,40}: )?moved\b.{2,120}\b(?:so that|so it|before|because|to run)\b",
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
    r"^(?:[A-Z][\w ]{2,40}: )?(?:the [\w -]{2,40}|`x`(?:\(\))?(?: and `x`(?:\(\))?)?) now"
    r" (?!has\b|is\b|(?:work|pas|exist|contain|compile|build|match|cover|show|look|include|live|run"
    r"|point|need|see|explain|mention|document|describe|reflect)(?:e?s)\b)[a-z]{3,}s?\b(?<!ed)",
    r"\b(?:is|are) now (?:surfaced|required|optional|allowed|disabled|enabled|ignored|rejected"
    r"|skipped|logged|opt-in|opt-out|cached|shared|fixed to|handled)\b",
    r"^(?:since|because) .{10,200}, (?:I|we) should [a-z]+",
    r"^(?!the\b)(?![^:]{0,40}\b(?:fix|clarification|question|problem|issue|concern|recommendation"
    r"|answer|note|cause|line|phase|step|part|scenario|case|test|expected|before|after|result"
    r"|verif\w+|usage|example|tip|todo|status)s?\b)[A-Z][\w /()-]{2,40}: "
    r"(?!(?:added|updated|moved|created|removed|fixed|ran|changed)\b)"
    r".{0,160}\b(?:if|unless|when|only|always|never|automatically)\b",
)
AGENT_ACCEPTED = _any(
    r"\b(?:is|are) (?:fine|enough|sufficient|acceptable|good enough)\b.{0,60}"
    r"\b(?:since|because|for (?:v\d|now))\b",
    r"^(?:since|because) .{5,160}, .{1,60}\b(?:is|are) (?:fine|enough|sufficient|appropriate)\b",
)
AGENT_REASONED = _any(
    r"\b(?:intentionally|deliberately|on purpose)\b(?! (?:unused|empty|blank|ignored))",
    r"\b(?:is|are) (?:cleaner|simpler|safer|more robust|more consistent)\b.{0,80}"
    r"\b(?:than|because|since)\b",
    r"\b(?:cleanest|simplest|right|safest|pragmatic|correct|proper|better) "
    r"(?:fix|solution|approach|way|choice|option|thing)\b.{0,40}(?:\bis to\b| [\u2013\u2014-] )",
)
AGENT_INSTEAD = _any(
    r"^(?:let me|I'll) (?:use|target|return|store|put|keep|default to) .{2,80} instead\b"
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
_YOU_LEAD = (
    r"^\W*(?:(?:please|just|yes|yeah|no|ok|okay|sure|so|and|but|also|then|now|hmm|ah|actually|,)"
    r" ?){0,4}"
)
USER_RULE = _any(
    r"\b(?:we|it|this|that|they|the (?:\S+ ){1,3}|[A-Z]\w+ |\w+s )[ ]?"
    r"(?:should|must)(?: never| always| only| still| no longer| also| just)? "
    r"(?!be able|be (?:fine|good|better|ok)|work\b|pass\b|have been|not\b|i\b|we\b)[a-z]{2,}",
    rf"{_YOU_LEAD}(?:should|must) (?:be|only|always|never|use|stay)\b",
    r"\bI think (?:that )?(?:we|it|this|the|a|at) .{0,60}\b(?:should|need|just|only"
    r"|fine)\b(?! not)",
    rf"{_YOU_LEAD}(?:put|place|store|name|call|return|send|show|make|save|keep) .{{2,80}}, not \S",
    rf"{_YOU_LEAD}(?:change|set|raise|lower|increase|reduce|bump|limit) .{{2,60}} (?:from \S+ )?to "
    r"`?\d",
    rf"{_YOU_LEAD}(?:drop|remove|add|keep) (?:the )?support for\b",
    r"\bbut (?:use|make|keep|limit|only|without|leave|call|name|put)\b .{3,}",
    r"\bno longer [a-z]{3,}",
    r"\binstead[.!]*$",
    r"\b(?:instead|rather) we\b|\binstead of\b|\brather than\b",
    r"\blet'?s (?:just |rather |also |please )?(?:use|keep|go with|stick|switch|move|adopt|drop"
    r"|avoid"
    r"|replace|skip|remove|support|store|treat|default|leave|make|rely|only|always|never|not|do"
    r"|call|rename|merge|split|ignore|limit|require|allow|enable|disable|log|return|cache"
    r"|track|revert|stay|target|base|set)\b",
    r"\blet'?s (?:also |just )?add\b.{3,120}\b(?:to say|that says?|so that|instead|when|if|for)\b",
    rf"{_YOU_LEAD}(?:move|convert|migrate|change) (?:everything|all|every \w+"
    rf"|the \w+) (?:\S+ )?to \S",
    rf"{_YOU_LEAD}use .{{2,60}}\b(?:instead|not|for|rather|everywhere|only|as)\b",
    rf"{_YOU_LEAD}(?:rename|replace|switch|drop|revert|merge) .{{1,80}}\b(?:to|with|into|from|by"
    rf"|back)\b",
    r"\bI(?:'d like| want| need| would like) (?:it|this|that|them|the \w+|all) (?:to|not)\b",
    r"\b(?:this|that|it) is (?:fine|ok|okay)\b|^leave it\b|\bgo with\b",
    r"\bif (?:we|there|the|it|files)\b.{3,150}, ?(?:then )?we\b",
    r"\bif (?:there(?:'s| is| are)?|no|the|it|we)\b.{3,150} then (?:we |it |the )?[a-z]{3,}",
    rf"{_YOU_LEAD}(?:never|always) (?!need|have|know|think|see|get|want|care|worry"
    rf"|use[ds])[a-z]{{2,}}"
    r"(?<!ed)\b",
    r"\b(?:wir (?:nehmen|verwenden|benutzen|sollten|machen)|lass uns|nimm|verwende|benutze)\b"
    r"(?! mal\b)",
    r"\b(?:usemos|vamos a usar|deber[ií]amos|en (?:vez|lugar) de)\b"
    r"|我们(?:用|使用|应该|改用)|而不是"
    r"|ではなく|にしましょう|(?:を使|べき)(?:う|って|い|です)",
)
USER_VERDICT = _any(
    r"\bI (?:think|guess|believe)\b.{0,120}\bwe should(?: just| only| rather"
    r"| also)? (?!not\b)[a-z]+",
    r"^\W*(?:and |so |but )?I (?:guess|think) .{5,120}\b(?:is|are|would be) (?:fine|ok(?:ay)?"
    r"|enough|better)\b",
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b",
    r"\bit'?s (?:simple|easy|cheap) enough to (?:add|use|keep|support)\b",
    r"\bI(?:'d| would) like to (?:modify|change|use|keep|replace|drop|move)\b.{3,}",
)
USER_REQUEST = _any(
    rf"{_YOU_LEAD}keep (?!going|working|reading|looking|trying)"
    r"(?:the|this|that|it|our|these|those) .{3,}",
    r"\bcan (?:we|you)\b.{2,200}\b(?:instead|automatically|never|always|rather)\b",
    r"\bcan (?:we|you)? ?(?:just |please )?(?:keep|use our|use the|stick)\b",
    r"\b(?:can|could) we (?:also |just |please |maybe )?(?:add (?!(?:a |some |more )?(?:tests?"
    r"|docs?|comments?))|log|use"
    r"|make|rename|move|replace|drop|remove|invert|store|default|support|return|show|hide|limit"
    r"|avoid|skip|ignore"
    r"|treat|switch|call|surface|disable|enable|set|name|do (?:this|that|it) (?:like|similar"
    r"|the same|automatically|with))\b.{5,}",
    r"\bit should (?:never|always|only)\b",
    rf"{_YOU_LEAD}(?:update|write|finish|do|fix|add) .{{4,80}} first\W*$",
)
USER_REFUSAL = _any(
    r"\b(?:we|I|you|it|they|the \S+|that|this|\w+s) (?:still |really |also )?should(?:n't"
    r"| not) (?!be (?:able|hard)|have\b|we\b)[a-z]{2,}",
    r"\bI (?:don't|do not) think (?:we|it|this|that|you) (?:needs?|should|has to|have to)\b",
    r"\b(?:we|I)(?:'ll| will)? (?:don't|do not|no longer) need\b|\bno need (?:to|for)\b",
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b",
    r"(?:^|[,;:(.\u2013\u2014-] ?|\b(?:please|just|and|but|we|so) )(?:don't|do not)"
    r" (?!need|have|know|think|see|get|want|care|worry|use[ds]|forget|you\b|we\b"
    r"|i\b)[a-z]{2,}(?<!ed)\b",
    r"\b(?:keine?n?|nicht) .{3,60}\b(?:brauchen|verwenden|benutzen|nötig)\b|\bno (?:uses|usemos"
    r"|hace falta)\b|不要(?:用|再|在)",
)
USER_DOUBT = _any(
    r"\b(?:isn't|is there|isn't there|aren't) (?:there )?(?:no|an?|already an?) (?:library"
    r"|existing|built-?in|standard|simpler"
    r"|better|cleaner|helper|package)\b",
    r"\bdo we (?:really |even |actually )?need (?:to|this|that|an?|the|all|both)\b",
)
CONTRAST_OF_USER = _any(
    r"\binstead\b|\brather\b|\bbut (?:as|in|on|with|by|for|from|use|we|just)\b|, (?:use|just"
    r"|let's)\b"
)
USER_FACT = _any(
    r"^\W*(?:what|why|how|when|where|who|which|is|are|does|do|did|has|have|can you check)\b",
    r"\b(?:consider|recommend\w*|suggest\w*|alternatively|wondering|not sure|curious)\b",
    r"\bI should\b|\b(?:network|ci|build|tests?) should\b",
    r"\b(?:errors?(?! (?:messages?|codes?|pages?|handl\w+|class\w*|types?)\b)|fails?|failed|failing"
    r"|crash\w*)\b|\b(?:the|an?|this) (?:issue|problem|bug)\b",
)
ONCE = _any(
    r"\b(?:let'?s|can (?:we|you)|could (?:we|you)|please|^(?:and |then |also )?)(?: |^)?(?:also "
    r"|just |please )*"
    r"(?:check|see|look|review|discuss|try|run|test|commit|push|clarify|explain|investigate"
    r"|continue|proceed|have a"
    r"|start|begin|talk|create (?:a|an|the|another) (?:\S+ )?(?:branch|pr|pull request|issue"
    r"|commit)"
    r"|make sure|do (?:a|another|some)|make a (?:commit|pr|plan|branch|list|copy)|(?:write|add"
    r"|create|update|fix)"
    r" (?:a |an |some |more |the |another )?(?:\S+ ){0,2}(?:tests?|comments?|docstrings?"
    r"|changelog|readme|typos?|plan))\b",
)
"""Requests to do something once."""
REPORTED = _any(
    r"\b(?:i|we|he|she|they|it|claude|that|this|which|\S+s|the (?:\S+ ){1,4}|\S+ branch"
    r"|\S+ )(?: ?(?:is|are|was|were|has|have|had|keeps?"
    r"|now|still|just|always|also|sometimes|suddenly|again)){0,3} ?(?:fail(?:s|ed|ing)|crash(?:es"
    r"|ed|ing)|hang(?:s|ing)?\b"
    r"|hung|broken?|breaks|stuck|throws|threw|errors out|times? out|timed out|(?:does|do|did|is"
    r"|are|was)(?:n't| not)"
    r" work(?:ing)?|stopped working|not working)\b(?! (?:to )?open| early| fast| loudly| hard\b)",
    r"\b(?:get|gets|got|getting|see|seeing|saw|had|have|has|gave me|gives|hit|hitting|throws?"
    r"|threw|shows?|with|is|there(?:'s| is| are))"
    r" (?:this |an?|the |these |some |following |\S+ ){0,3}(?:errors?|warnings?|exceptions?"
    r"|failures?|stack ?traces?|panics?)\b",
    r"\b(?:the|one|another|an?) (?:\S+ ){0,2}(?:issue|problem|bug)\b.{0,60}\b(?:is|was"
    r"|are)\b(?! (?:fixed|solved|gone|resolved))",
    r"\bthere(?:'s| is| are| was| were) (?:still |also |now )?(?:an?|some"
    r"|another) (?:\S+ ){0,2}(?:issue|problem|bug|race|leak|regression)\b",
    r"\bwhy (?:is|are|does|do|did|would|was|were|has|have) .{2,120}\b(?:not?|never|still|stale"
    r"|empty|missing|wrong|fail\w*|slow|broken"
    r"|twice|error\w*|deleted|lost|gone|different|crash\w*|hang\w*|null|undefined|invalid)\b",
    r"\bwhy (?:isn't|aren't|doesn't|don't|didn't|can't|won't) \S+.{3,}",
    r"\b(?:i|it|we|claude|the \S+(?: \S+)?) (?:couldn't|could not|can't|cannot|was unable to"
    r"|is unable to|am unable to|wasn't able to)"
    r" (?!we\b|i\b|you\b|remember|think|tell|wait|say)[a-z]{3,}",
    r"\b(?:looks?|seems?|is|are|feels?|appears?)(?: to be| still| now| pretty| really| totally"
    r"| completely| very| a bit| quite){0,2}"
    r" (?:broken|wrong|off|weird|stale|missing|truncated|garbled|corrupt(?:ed)?|incorrect|laggy"
    r"|flaky|unusable|annoying|confusing"
    r"|hard to (?:read|debug|use|follow|find|see)|slow|duplicated|too (?:slow|small|big|long"
    r"|large|noisy|verbose))\b(?! in advance)",
    r"\b(?:goes|went|turns?|turned|gone|becomes?|became) (?:stale|missing|blank|black|wrong|empty"
    r"|slow)\b",
    r"\b(?:annoying|annoys|frustrating|confusing|makes? .{2,60} (?:harder|difficult|impossible"
    r"|slow))\b",
    r"\bhelp (?:me )?(?:to )?understand why\b|\b(?:worries|bothers|annoys|confuses) (?:me|us)\b",
    r"\btakes? (?:about |over |more than )?\d+(?:\.\d+)? ?(?:s|seconds?|m|min(?:utes?)?|hours?)\b",
    r"\byou(?:'ve| have)? (?:just |also |again )?(?:attached|forgot(?:ten)?|missed|broke(?:n)?"
    r"|deleted|removed|overwrote|lost|ignored|put|duplicated"
    r"|skipped|didn't|did not|haven't|hallucinated|misunderstood)\b",
    r"\bnoticed (?:that |you |the |it |an? )",
    r"^\W*(?:q: |and |but |so )?why\b.{3,140}(?:\b(?:not|no|never|still)\b|n't\b)",
    r"\bwill (?:cause|break|fail|crash|result in|panic|leak|never)\b"
    r"|\bcauses? (?:\S+ ){0,3}(?:failures?|errors?|crash\w*)\b",
    r"\b(?:is|are) (?:effectively |never |not |still |currently ){0,2}(?:untested|unreachable"
    r"|undefined|unhandled|reached|called|executed"
    r"|validated|checked|handled|closed"
    r"|escaped)\b(?<!is called)(?<!are called)(?<!is handled)(?<!is checked)(?<!is executed)",
    r"\bnever (?:executes?|runs?|gets|called|reached|returns|read)\b",
    r"\b(?:does nothing|nothing happens|(?:doesn't|does not|didn't) do anything)\b",
    r"\b(?:i|we|users?) (?:still |now |always |just ){0,2}(?:get|see|got|saw) (?:an? )?(?:[45]\d\d"
    r"|empty|blank|white|wrong|timeouts?)\b",
    r"\b(?:race condition|memory leak|dead code|data loss|deadlock|nil pointer|null pointer"
    r"|out of sync|duplicated now)\b",
    r"\b(?:would|does|do|did|will) not (?:now )?(?:surface|show|appear|render|load|start|save"
    r"|update|respond|return|compile|build|match|open|find)\b",
    r"\b(?:doesn't|don't|didn't|won't) (?:surface|show|appear|render|load|start|save|update"
    r"|respond|return|compile|build|match|open|persist|exist|find)\b",
    r"\b(?:shows?|showing|returns?|returning|finds?|finding|prints?|printing) (?:no|nothing"
    r"|the wrong|an? (?:empty|wrong|blank|404|500))\b",
    r"\b(?:schlägt fehl|funktioniert nicht|geht nicht|kaputt|fehlermeldung|no funciona|falla"
    r"|da error|ne (?:marche|fonctionne) pas)\b|报错|不(?:工作|能用|起作用)|反応しない"
    r"|失败了|出错|エラーが|動かない|動きません|失敗し(?:た|ます)",
)
WHY = _any(r"^\W*(?:but |so )?why\W*$")
REVIEW = _any(
    r"\bconsider (?:either )?(?:an? |the |\w+ing\b)|\b(?:we|I|I'd) (?:suggest|recommend)\b"
    r"|^(?:suggestion|severity|nit)\b"
)
"""A comment of a reviewer: it begins with the problem."""
HYPOTHETICAL = _any(
    r"^\W*(?:(?:yes|yeah|no|and|but|so|also|like)\b\W*){0,2}(?:if|when(?:ever)?|in case|should"
    r"|what (?:if|happens)|suppose|unless)\b(?!.{0,80}\b(?:i|we) (?:get|got|see|saw)\b)",
    r"\b(?:if|in case|when) (?:the|we|it|there|a|an|that|this|\S+) (?:\S+ ){0,4}(?:fails?|failed"
    r"|crash\w*|is missing|throws?|can't|cannot)\b",
    r"\b(?:does|do|did|will|would|could|can|is|are|should) (?:it|this|that|they|we"
    r"|the \S+) (?:\S+ )?(?:fail|crash|break|work|hang)\b",
    r"\b(?:should|must|could|might|may) (?:then |now |also |just |rather |always )?(?:fail|throw"
    r"|error|crash|break|return an error)\b",
    r"\bno (?:errors?|issues?|problems?|failures?|warnings?)\b|\bwithout (?:any )?(?:errors?"
    r"|issues?)\b"
    r"|\b(?:was|were|is|are|been|now) (?:fixed|solved|resolved)\b",
    r"\b(?:error|exception|failure|warning) (?:handling|message|log(?:ging|s)?|code|page|type"
    r"|class|path|case|state|toast|boundary|boundaries)s?\b",
    r"^\W*(?:please |can you |could you )?(?:fix|add|write|implement|create|make|update|handle"
    r"|refactor|ensure|change|build|generate|use|check|review|test|verify)\b",
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


AGREES = _any(
    r"^\W*(?:you're|you are) (?:absolutely |totally )?(?:right|correct)\b|^good (?:point|catch"
    r"|idea)\b"
)
POINTS = _any(
    r"\b(?:it|they|them|these|those)\b(?!'s (?:simple|easy|fine|better|hard))",
    r"\b(?:this|that)(?:'s|'ll)?(?: (?:would|will|is|was|should|does|do|just|still|now|way|as|in"
    r"|for|to|and|or|instead|too|one)\b|[ ]?$|[.,?!;:)])",
    r"\b(?:this|that) (?:fix|change|approach|issue|problem|scenario|case|error|solution|function"
    r"|file|test|line|part|step|method|code|class|command|message|behaviou?r|thing|feature|plan|idea)\b",
    r"\bthe (?:first|second|third|other|latter|former|above|same) (?:one|approach|option|way|thing"
    r"|idea|version)\b|\b(?:option|approach) (?:[a-d]|\d)\b|#\d\b|\babove\b",
)
"""Pronouns that may refer to another sentence."""
POINTS_FIRST = _any(
    r"^\W*(?:and |so |but )?(?:should|must) be\b|^\(",
    r"^\W*(?:and |so |but |now,? |then |also |i (?:think|guess) (?:that )?|yes,? |no,? ){0,3}"
    r"(?:it|they|these|those|this|that)(?:'s|'re|'ll)? (?:is|are|was|were|will|would|should|must"
    r"|can|could|may|might|does|do"
    r"|has|have|makes?|means?|needs?|still|just|now|also|never|only|always"
    r"|[a-z]+s)\b(?! (?:simple|easy) enough)",
)
PART_END = _any(r"[,;:(]|\b(?:because|since|so|but|if|when|and)\b")
"""Before a pronoun that refers to another part of its sentence."""
CONDITION = _any(r"^(?:if|when|otherwise|then|now|it|this)\b")
NEGATES = _any(
    r"\b(?:never|not|no longer|without|stop|avoid|remove|drop|revert|disable|skip)\b|n't\b"
)
LABEL = re.compile(
    r"[A-Z][\w /()-]{2,40}: (?:Moved|Changed|Switched|Replaced|Made|Kept|Dropped|Inverted)\b"
)
"""The name of what a line of a list changed."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.:]\d+)*(?!\w)")
ASIDE_START = re.compile(r" [-\u2013\u2014] | \(")
CLAUSE_END = re.compile(r"(?<=[.!?]) +(?![.?!])")
"""Users begin sentences in lower case, too."""
TURN = re.compile(r"[,;:]? (?=(?:but|however|so|instead|and then)\b)")
"""Where a long clause may be cut."""
LEAD = re.compile(r"^[^\w`\"'(]+|^`[\w./-]+\.\w{1,5}`(?: -|:) ")
USER_LEAD = re.compile(
    r"^[^\w`\"'(\[#]*(?:(?:yes|yeah|no|nope|ok|okay|so|and|but|also|actually|then|oh|hmm|ah|well"
    r"|please|sure|hey|q)\b(?!-)[\s,.:!]*){0,4}(?:I (?:think|guess|believe) (?:that )?"
    r"(?=\S+ \S+ )|can we (?:(?:also|just|please|maybe) )*)?",
    re.IGNORECASE,
)
USER_REQUESTED = re.compile(
    r"^(?:(?:can|could) (?:we|you) (?:(?:please|also|just|maybe) )*)?(.{8,}?)"
    r"(?:,? ?\b(?:or|right|okay|ok|please|thanks))?[ ?]*\?+$",
    re.IGNORECASE | re.DOTALL,
)
"""A request in the form of a question."""
REPORT_TAIL = re.compile(
    r"(?: -|,? (?:and|so|but))?[,;.]? (?:(?:can|could|would) (?:you|we)|let's|please)\b[^:\n]*$",
    re.IGNORECASE,
)
"""What a report asks for; no part of the problem."""
CODE = re.compile(r"`[^`]*`")
ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s|er|ly)$")
CONTENT_WORD = re.compile(r"[^\W_]{3,}")
SLASH_COMMAND = re.compile(r"^\s*/[a-z][\w:-]{1,60}\s+")
INSTRUCTIONS = re.compile(r"^\s*(?:<|You are (?:an?|the)\b|# |---\n|\[\{)")
"""How texts begin that a program or a file gives as a prompt."""
PASTED = re.compile(
    r"^(?: {2,}|\t|>)|^\s*at \S+ ?\(|^\d{4}-\d\d-\d\d[T ]\d|^\[?\d\d:\d\d|^(?:INFO|DEBUG|WARN"
    r"|ERROR)\b"
    r"|^[$\u276f➜] |^[+-]{1,3} ?\S+.*[;{}]$|^\S+\.\w{1,5}:\d+"
)


def wordings() -> dict[str, frozenset[str]]:
    return {
        name: frozenset({pattern.pattern})
        for name, pattern in globals().items()
        if isinstance(pattern, Cue | re.Pattern)
    }
