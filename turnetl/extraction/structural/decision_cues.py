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


def cue(*patterns: str) -> Cue:
    return Cue("|".join(patterns))


QUESTION = cue(
    r"[?\uff1f]\W*$",
    r"^\W*(?:should|shall|would|could|can|will|do|does|did|is|are|was|were|has|have|why|what|how"
    r"|when|where|who|which) (?:I|we|it|this|that|there|you|the|they)\b(?!.{0,60}, )",
    r"(?:吗|呢|ですか|ますか|でしょうか)\W*$",
    r"^\W*(?:soll(?:te)?(?:n|st)?|k[öo]nn(?:t?en|test|st)|kann(?:st)?|puedes|podr[ií]as"
    r"|deber[ií]a(?:mos)?) (?:ich|wir|du|sie|man)?\b.*[?]",
)
OPEN_QUESTION = cue(
    r"^\W*(?:(?:and|but|so|also|q:) )?(?:how|what|where|which|who|when) (?:can|could|should|do"
    r"|does|would|is|are|to)\b"
)
"""It has no answer yes or no, and so asks for nothing that a turn may just do."""
DECIDED = cue(
    r"\b(?:I|we)(?:'ve| have)? (?:decided|chose|chosen|opted|agreed|settled|picked) (?!to (?:check"
    r"|look|try|see|test|wait|ask)\b|against\b|an? random\b)",
    r"^(?:decided|opted|settled) (?:to|on|against|for)\b|^chose \S",
    r"(?:^(?:I|we)(?:'ve| have)? ?|^)(?:went|gone|ended up) (?:with|for) \S",
    r"(?:^|[,;:] )(?:\w+ )?(?:decision|scope|policy|convention)(?: is| was)?: |\bthe (?:plan|rule"
    r"|policy|convention) is: ",
    r"\bwir haben (?:uns )?(?:entschieden|beschlossen)\b|\bhemos decidido\b|(?:我们)?决定"
    r"|ことにし(?:た|ます)",
)
"""In the first person and the past: nothing that follows makes it undecided."""
DECIDING = cue(
    r"^(?:I|we)(?:'ll| will|'m|'re| am| are)? (?:going |go |stick |sticking |settled |settle "
    r")(?:with|on|to using)\b",
)
PREFERRED = cue(
    r"\bI(?: really| much| strongly| generally| usually)? prefer\b(?! (?:to (?:know|see|hear"
    r"|understand)|not to say)\b)",
    r"\bI(?:'d like| want|'d prefer| would like) you to (?:always|never)\b",
    r"\bI (?:always|never|usually) (?:want|use|write|like|prefer|expect)\b",
    r"\bmy preference is\b|\bI (?:hate|love|like) (?:it )?(?:when|to have|having)\b",
    r"\bI (?:really )?(?:hate|dislike|can't stand) (?!to\b|this\b|that\b|it\b|you\b|the\b)[a-z]",
    r"\bI (?:like|find) .{3,60}\b(?:better|cleaner|more readable)\b",
    r"\b(?:ich bevorzuge|mir ist lieber|prefiero)\b|我(?:更)?(?:喜欢|偏好)|(?:のほう|の方)が(?:好き"
    r"|いい)",
)
WOULD_RATHER = cue(
    r"\bI(?:'d| would)(?: really| much| strongly)? (?:prefer|rather)\b(?! (?:to )?(?:know|see|hear"
    r"|understand|if you|you|wait|not\b))"
)
"""A choice about one thing, no preference that lasts."""
_START = r"^\W*(?:(?:and|also|please|pls|but|so|just|ok|okay),? ){0,3}"
STANDING_ORDER = cue(
    r"\bfrom (?:now|here) on\b|\bgoing forward\b|\bplease (?:always|never) [a-z]+|, always\W*$"
    r"|\bin (?:the )?future,? (?:please|always|never|don't|do not)\b",
    r"^(?:[^,.]{1,60}, )?(?:don't ever [a-z]+|(?:always|never) (?:ask|commit|push|use|run|write"
    r"|add|start|create|merge|edit|delete|install|follow|explain|test|update|read|check|touch|mock"
    r"|force|amend|rebase|squash))\b",
    rf"{_START}stop (?:asking|adding|using|creating|writing|committing|explaining"
    rf"|apologi[sz]ing)\b",
    rf"{_START}(?:remember|make sure|be sure) (?:to always|to never|you always|you never|that "
    rf"we)\b",
    rf"{_START}remember(?: also)?,? (?:to (?!self|push|commit)|(?:that )?you (?:can|have|may))\b",
    r"\byou (?:should|must|have to|need to) (?:always|never|.{3,60} (?:before|after) (?:every|each"
    r"|any))\b",
    r"^\W*(?:and |also )?(?:whenever|(?:each|every|any) ?time) (?:you|we)\b.{3,80}, (?!it\b|i\b"
    r"|the\b)",
    r"^\W*when I (?:say|ask|write|type)\b.{3,60}(?:,| you\b)",
    r"^\W*(?:for|in) (?:all|any|each|every) (?:new |future )?.{3,60}, (?:also )?(?:add|use|write"
    r"|include|run|create|update|keep|put)\b",
    r"^\W*(?:please )?be (?:concise|brief|terse|direct|precise|critical|honest)\b",
    r"^\W*(?:please )?(?:answer|reply|respond|write|speak) (?:to me )?in (?:english|german|french"
    r"|spanish|chinese|japanese|plain \w+)\b|^\W*(?:please,? )?no (?:emojis?|summaries|apologies"
    r"|bullet points)\b",
    r"^\W*(?:please )?(?:explain|describe|show|tell me|list|summari[sz]e) .{3,60} before you "
    r"(?:change|edit|write|start|commit|delete|make)\b",
    r"\bI (?:want|expect|need) (?:each|every|all) (?:commits?|changes?|functions?|prs?|answers?"
    r"|class(?:es)?|modules?|files?)\b",
    r"^\W*(?:commits?|commit messages|prs|pull requests|branches|branch names|comments|docstrings"
    r"|answers) (?:should|must|have to|need to|are to) ",
    r"\byou don't (?:have|need) to (?:apologi[sz]e|explain|thank|summari[sz]e|repeat|ask)\b",
    r"^\W*(?:please )?(?:use|write|follow|stick to) (?!the |this |that |a |an )(?:\S+ "
    r"){0,3}(?:commits?(?: messages?)?|english|spelling|style(?: guide)?|conventions?|type hints"
    r"|docstrings)\W*$",
    rf"{_START}(?:don't|do not|never|avoid) (?:ever )?(?:commit|push|amend|rebase|force"
    r"|squash|merge|ask|mock|guess|assume|use emojis?|apologi[sz]e|explain|summari[sz]e|touch|edit"
    r"|modify|create|add|write|install|change|delete|read)\b.{0,40}\b(?:commits?|main|master"
    r"|branch(?:es)?|mocks?|comments?|docstrings?|emojis?|(?:summary|report|documentation|readme"
    r"|md|backup|temporary) files?|summaries|markdown|directly|permission|without|unless|until"
    r"|ever|yourself|me|(?:anything|files?|code) (?:else|without|in|under|outside|below))\b",
    rf"{_START}keep (?:our|my|your|all) [^.?!]{{3,60}} in \S",
    rf"{_START}ask (?:me |for (?:permission|confirmation) |us )?(?:first )?before\b",
    rf"{_START}(?:keep|make) (?:each|every|all|your|the)? ?(?:commits?(?: messages?)?"
    r"|answers?|responses?|repl(?:y|ies)|prs?|pull requests?|explanations?|summaries|functions"
    r"|names?)\b (?!as is\b|in mind\b|from\b|that\b)",
    r"\b(?:each|every|all|any)(?: new)? (?:commits?|prs?|pull requests?|changes?|functions?|files?"
    r"|class(?:es)?|modules?|features?|endpoints?|public \w+|docs?|documentation|comments?|commit "
    r"messages?|code)\b.{0,40}\b(?:should|must|has to|have to|needs?)\b(?! (?:now |then )?(?:pass"
    r"|work|be (?:green|fixed|ok|fine|gone)))",
    r"^(?:for|in|on) (?:the|all|any|each|every) (?!ones?\b|other).{3,80}, (?:please|always"
    r"|never)\b",
    r"\bin (?:this|our) (?:project|repo\w*|code ?base|team),? we (?:(?:only|always|never) [a-z]+"
    r"|use|write|do|don't|keep|name|follow|put|test|prefer)\b",
    r"^\W*we (?:(?:always|never|only) [a-z]+|use|write|do|keep|test|name|put|prefer|follow) "
    r".{2,80}(?:, (?:not|never)\b|first\W*$|\b(?:everywhere|for all|(?:in this|in our|here)(?: "
    r"project| repo\w*| code ?base)?)\b)",
    r"\b(?:ab jetzt|ab sofort|in zukunft|künftig|a partir de ahora|de ahora en adelante)\b"
    r"|^\W*(?:bitte )?(?:schreib|nutz|verwende|benutz|committe|frag)\w* .{0,40}\b(?:immer"
    r"|nie(?:mals)?)\b|^\W*(?:por favor,? )?(?:siempre|nunca) \w+|以后|从现在开始|今後は|これからは"
    r"|常に|毎回",
)
NOT_NOW = cue(
    r"\b(?:don't|do not) (?:(?:make|edit|change|touch|modify|write|do|implement|start|fix|commit"
    r"|push)\b.{0,30}\b(?:any(?:thing)?|yet|code|files?|for now)\b(?! (?:that|which|else|without"
    r"|unless|until))|worry|bother|stop|panic|hesitate|mind|understand|remember|forget|get|see"
    r"|break)",
    r"\b(?:at some point|some ?day|eventually|probably|later on|for a (?:sec|moment|minute)|one "
    r"day|in case you)\b",
)
"""Holds for the answer, or for nobody knows when."""
HEARSAY = cue(
    r"\b(?:according to|(?:the|your|this|my|our|its) (?:\S+ ){0,2}(?:docs?|documentation|spec\w*"
    r"|reviewer|readme|error|compiler|linter|message|comment|article|issue|warning|log|colleague"
    r"|boss|manager|team|client|customer)s? (?:says?|said|states?|mentions?|claims?|thinks?|wants?"
    r"|suggests?|recommends?|wrote|asked))\b",
    r"\b(?:he|she|they|someone|somebody|people|claude|copilot|codex|gemini|chatgpt) (?:says?|said"
    r"|thinks?|use|wrote|suggests?|suggested|recommends?|recommended|told)\b",
    r"\bI (?:was reading|(?:read|saw|heard) that)\b",
    r"^\W*(?:understood|got it|noted|acknowledged|done|clarification|scenario|question|example"
    r"|context|expected|actual|note)\b(?= ?[.,:!\u2013\u2014-])",
    r"^\s*(?:#|//|/\*|\*|>) ?\S",
)
"""What others say, and what an agent echoes."""
DESCRIBED = cue(
    r"\bI just\b|\b(?:I|it|this|that|we) (?:accidentally|already|had|was|did|saw|tried|used to"
    r"|used|changed|added|put|moved|renamed|removed|replaced)\b",
    r"^(?:I|we) have\b",
    r"\b(?:is|are|was|were|gets?|got|has been|have been|being) (?:\w+ed|shown|sent|built|read|run"
    r"|set|done) (?:\S+ ){0,3}(?:instead of|rather than)\b",
    r"\b(?:you should (?:see|get|have|be|find|know|notice)|there should (?:be|exist))\b",
    r"\bthe (?:previous|old|current|existing|last) \S+ (?:used|uses|was|is|has|had|did|does)\b",
)
"""What was done, or what the agent is going to see."""
REJECTED = cue(
    r"\boverkill\b|\bover-?engineer(?:ed|ing)\b",
    r"(?:\bnot|n't) worth (?:it|the|doing|adding|supporting)\b",
    r"\bjust adds? (?:complexity|noise|overhead|risk)\b",
    r"\b(?:to+ much|needless|unnecessary|unneeded) (?:complexity|risk|overhead|noise)\b",
    r"\bI (?:don't|do not) (?:want|like)\b(?! to (?:bother|be|sound|interrupt)| you\b)",
    r"\bI(?:'d| would) (?:avoid|not (?:use|add|bother)|skip|drop|rather not)\b .{3,}",
    r"\b(?:is|are) out of the question\b",
    r"^\W*(?:(?:nope|nah|please|and)[,.]? )*no (?!problem|idea|worr|need|rush|luck|errors?\b"
    r"|changes?\b|more\b|tests?\b|difference|way\b|one\b|it\b|that\b|this\b|i\b|we\b|you\b|the\b"
    r"|they\b|not\b|don't\b|just\b|use\b|make\b|keep\b|let)[a-z][\w-]+(?: [a-z][\w-]+)?(?: "
    r"please)?[.!]*$",
    r"^\W*(?:please )?(?:skip|drop|remove|forget) the .{3,60}, (?:it|we|that|they|nobody|no one)\b",
    r"\b(?:I|we)(?:'ve| have)? (?:rejected|declined|discarded|ruled out|decided against)\b",
    r"\b(?:I'm|I am|we are|we're) against (?:\w+ing|the|an?)\b",
)
UNDECIDED = cue(
    r"\b(?:if you|would|you could|you can|you'd|you'll|could|might|may|maybe|perhaps|possibly"
    r"|alternatively|options?|should (?:I|we)|shall|do you|can you|whether|let me know|not sure"
    r"|wonder(?:ing)?|either|consider|recommend\w*|suggest\w*|propos\w+|depends?|assum\w+|unlikely"
    r"|likely|probably|seems?|appears?|or just|or should|you want|you asked|you mean)\b",
)
STEP = cue(
    r"^(?:(?:now|next|first|then|ok|okay|good|great|perfect|so|also|and|actually|wait|hmm|ah|yes"
    r"|right)\b[,.!:]? ?){0,3}(?:let(?:'s| me| us)\b|I should\b|I(?:'ll| will| need| want| have| "
    r"can| see|'m| am|'ve)\b|we (?:need|have)\b|need to\b|looking\b|checking\b|running\b"
    r"|committing\b|update\b|add\b|run\b|fix\b|create\b)",
    r"\blet me\b",
)
ASIDE = cue(
    r"\b(?:tests?|testing|tested|comments?|docs?|docstrings?|readme|changelog|diagrams?|typos?"
    r"|lint\w*|nolint|examples?|verif\w+|commit message|master plan)\b|document(?:s|ed|ation)?\b",
    r"_test\.|\btest_|\bTest[A-Z]\w",
)
REPORT = cue(
    r"^(?:this|that|it|which|these|those)\b.{0,20}?\b(?:gives?|means?|makes?|ensures?|allows?|lets"
    r"|prevents?|avoids?|keeps?|shows?|matches)\b",
    r"^(?:the )?(?:\w+ )?(?:problems?|issues?|concerns?|root cause|answer|insight|critical|verdict"
    r"|results?|summary|bugs?|impact|risks?|notes?|warning|important|clarification|before|old"
    r"|current(?:ly)?|previous(?:ly)?)\b",
    r"\bshould (?:now |also |all )?(?:work|pass|fix|see|have|look|do (?:it|that|the trick|what)"
    r"|be (?:fine|good|ok|okay|able|better|done|working|noted|ready|clear|visible|gone|enough))\b",
    r"\b(?:was|were|used to|originally|previously|currently|existing)\b",
)
AGENT_CHANGE = cue(
    r"^(?:changed|switched|replaced|inverted|swapped|migrated|converted|downgraded|upgraded|pinned"
    r"|relaxed|tightened|defaulted|simplified|consolidated)\b.{2,200}\b(?:to|with|by|from|into"
    r"|instead of|out of)\b",
    r"^(?:previously|before),? .{5,160}[;,.] ?now\b",
    r"^(?:made|kept|left)\b.{2,120}\b(?:allowed|required|optional|mandatory|default|because|since"
    r"|so that|instead|as is|as-is|unchanged|configurable)\b",
    r"^(?:[A-Z][\w ]{2,40}: )?moved\b.{2,120}\b(?:so that|so it|before|because|to run)\b",
)
AGENT_RULE = cue(
    r"\bno longer (?!needs?\b|exists?\b|applies|apply|the\b|an?\b|valid|necessary|possible|true\b"
    r"|available|relevant|present|in\b|be\b|works?\b|fails?\b)[a-z]{3,}\b(?<!ed)",
    r"\b(?:is|are) (?:limited|capped|restricted|bounded) (?:to|at|by)\b",
    r"\bis now (?:atomic|lazy|required|immutable|thread-safe|async|read-only|private|public)\b",
    r"^`x`(?:\(\))? (?:rejects|refuses|ignores|skips|raises|accepts|truncates|rounds|retries) "
    r".{4,80}\b(?:with|if|when|after|unless|without)\b",
    r"^(?!`x`)[A-Z][\w -]{3,40} in `x` (?:is|are) (?:skipped|ignored|rejected|kept|dropped"
    r"|rounded)\b",
    r"^(?!The\b)[A-Z][\w -]{3,60} (?:is|are) (?:rejected|refused|skipped|rounded|retried) (?:with"
    r"|unless|after|until)\b",
    r"^if (?:no|the|an?) .{3,80}, `x`(?:\(\))? (?:uses|returns|raises|skips|keeps|falls)\b",
    r"^(?:the )?`x`[^`]{0,30}\b(?:is|are) (?:only|always) [a-z]+(?:ed|en|t) (?:for|when|if|after"
    r"|once|with|in)\b(?!.*, which\b)",
    r"\bbut still [a-z]+s\b|\bstill (?:returns?|works? as|accepts?|supports?|honou?rs?)\b",
    r"\bis (?:now )?idempotent\b",
    r"(?<!^)\bby default\b|\bdefaults to\b|\(default: ",
    r"\b(?:falls? back to|degrades? gracefully)\b",
    r"\bnow (?:automatically|always|only|never|unconditionally) [a-z]+s\b",
    r"^(?:[A-Z][\w ]{2,40}: )?(?:the [\w -]{2,40}|`x`(?:\(\))?(?: and `x`(?:\(\))?)?) now (?!has\b"
    r"|is\b|(?:work|pas|exist|contain|compile|build|match|cover|show|look|include|live|run|point"
    r"|need|see|explain|mention|document|describe|reflect)(?:e?s)\b)[a-z]{3,}s?\b(?<!ed)",
    r"\b(?:is|are) now (?:surfaced|required|optional|allowed|disabled|enabled|ignored|rejected"
    r"|skipped|logged|opt-in|opt-out|cached|shared|fixed to|handled)\b",
    r"^(?!the\b)(?![^:]{0,40}\b(?:fix|clarification|question|problem|issue|concern|recommendation"
    r"|answer|note|cause|line|phase|step|part|scenario|case|test|expected|before|after|result"
    r"|verif\w+|usage|example|tip|todo|status)s?\b)[A-Z][\w /()-]{2,40}: (?!(?:added|updated|moved"
    r"|created|removed|fixed|ran|changed)\b).{0,160}\b(?:if|unless|when|only|always|never"
    r"|automatically)\b",
)
AGENT_ACCEPTED = cue(
    r"\b(?:is|are) (?:fine|enough|sufficient|acceptable|good enough)\b.{0,60}\b(?:since|because"
    r"|for (?:v\d|now))\b",
    r"^(?:since|because) .{5,160}, .{1,60}\b(?:is|are) (?:fine|enough|sufficient|appropriate)\b",
)
AGENT_REASONED = cue(
    r"\b(?:intentionally|deliberately|on purpose)\b(?! (?:unused|empty|blank|ignored))"
)
AGENT_ACT = cue(
    r"\bI(?:'ve| have)? (?:went with|kept|left|used|made|dropped|moved|put|skipped|avoided|removed"
    r"|named|limited|replaced|did not|didn't)\b.{3,160}\b(?:because|since|so that|instead of"
    r"|rather than|to avoid)\b|\bI (?:deliberately|intentionally|purposely) \S",
    r"^(?:instead of|rather than) .{3,120},? I (?!(?:should|could|would|can|will)\b)[a-z]+",
)
"""In the first person, the past and with a reason: nothing that follows makes it undecided."""
AGENT_PROMISE = cue(
    r"\b(?:I|we)(?:'ll| will) (?:use|store|treat|drop|avoid|replace|skip)\b.{3,200}\b(?:because"
    r"|since|so that|instead of|rather than)\b",
    r"\bI(?:'ll| will) (?:only|not|never|keep|leave|default to|go with|stick)\b(?! (?:going|you))",
)
CONTRAST = cue(r"\b(?:instead of|rather than|in favou?r of)\b", r"\breplaces the\b")
_YOU_LEAD = (
    r"^\W*(?:(?:please|just|yes|yeah|no|ok|okay|sure|so|and|but|also|then|now|hmm|ah|actually|,) "
    r"?){0,4}"
)
_LASTING = (
    r"(?:use|keep|go with|stick|switch|move|adopt|drop|avoid|replace|skip|remove|support|store"
    r"|treat|default|leave|make|rely|only|always|never|not|call|rename|merge|split|ignore|limit"
    r"|require|allow|enable|disable|log|return|cache|track|revert to|stay|target|base|set|name|put"
    r"|convert|write|read|send|show|hide|round|validate|expose|have)"
)
_NEXT = (
    r"(?!(?:start|begin|continue|proceed|see|look|check|try|test|run|go|move|wait|think|discuss"
    r"|talk|commit|push|review|say|assume|get|fix|debug|investigate|focus|first|now|find|figure"
    r"|create|write|implement|add|build|work|finish|clean|update|document|deploy|read|open|plan"
    r"|pick|take|give|tackle|hear|explore|verify|ship|walk|pair|meet|sync|chat|be|not|grab|compare"
    r"|collect|fetch|do (?:it|that|this)(?! (?:with|in|as|via)))\b)[a-z]+ \S.{4,}"
)
"""After `let's`: no next step."""
_BOUND = (
    r"(?:at (?:least|most)|no more than|up to|exactly|limited to|capped at|once (?:an?|per)|only "
    r"(?:for|in|on|when|if|once|by|with)|until|forever|everywhere|no exceptions|forbidden"
    r"|mandatory|required|optional|allowed|opaque|unique|immutable|as (?:integers?|strings?|utc))\b"
)
"""What says how far a rule goes."""
_TREATED = (
    r"(?:hashed|encrypted|compressed|signed|cached|stored|kept|rounded|sorted|validated|logged"
    r"|deleted|named|written|sent|returned|created|shown|numbered|counted|indexed|versioned"
    r"|prefixed)"
)
_NOT_A_RULE = (
    r"(?!be (?:able|fine|good|better|ok(?:ay)?|done|easy|enough|possible|working|ready|hard|nice"
    r"|clear|visible|gone|there)\b|work\b|pass\b|see\b|look\b|check\b|help\b|do (?:it|that|this)\b"
    r"|have (?:been|a look)|not\b|i\b|we\b|it\b|start\b|test\b|try\b|run\b|discuss\b|investigate\b"
    r"|wait\b|ask\b|talk\b|think\b|first\b|figure\b|find\b|review\b|compile\b|build\b|finish\b"
    r"|continue\b|proceed\b|commit\b|push\b|probably\b|maybe\b)"
)
USER_RULE = cue(
    rf"{_YOU_LEAD}(?:log|return|raise|throw|cache|store|round|hide|guard|wrap|expose|allow|require"
    r"|reject|retry|disallow|forbid|enforce|sort|order|group|index|key|number|count) (?:the|an?"
    r"|all|every|only|any|no|each|our|by) .{6,}",
    r"^\W*(?:no|nope|actually|wait|sorry|instead|rather)\b\W*(?:rather |please |just |let's "
    r"){0,2}(?:use|make|keep|put|call|name|store|set|return|go with|leave) .{6,}",
    r"(?:^|\s)(?!(?:I|you|he|she|who|what|which|why|how|where|when|there|else|also|still|just"
    r"|really|then|now|do|don't|might|would|will|remember)\b)[^\s,;:]+ (?:should|must|has to|have "
    r"to|needs to|need to|shall)"
    rf"(?: never| always| only| still| no longer| also| just| therefore| then)? {_NOT_A_RULE}"
    r"[a-z]{2,}",
    rf"{_YOU_LEAD}(?:should|must) (?:be|only|always|never|use|stay) {_NOT_A_RULE}",
    rf"{_YOU_LEAD}(?:put|place|store|name|call|return|send|save|keep|write|read|make) .{{2,80}}"
    r"(?:, (?:not|never) \S|\b(?:instead of|rather than|by default)\b|\binstead[.!]*$)",
    rf"{_YOU_LEAD}(?:change|set|raise|lower|increase|reduce|bump|limit) .{{2,60}} to `?\d",
    rf"{_YOU_LEAD}(?:drop|remove|add|keep) (?:the )?support for\b|\bdrop \S+(?: \S+)? support\b",
    rf"{_YOU_LEAD}(?:pin|bump|cap|upgrade|downgrade|version) .{{2,60}} (?:to|at|as|below) \S*\d",
    rf"{_YOU_LEAD}(?:treat|count|interpret|model|represent|encode|format|display|render|show|print"
    r"|store) .{2,60} as (?!well\b|soon\b|it\b|is\b|before\b)\S",
    rf"{_YOU_LEAD}(?:name|call) (?:the|our|its) (?:[\w-]+ ){{1,3}}[`\"'-]",
    rf"{_YOU_LEAD}(?:move|pull|push) .{{3,60}} (?:from|out of) .{{2,60}} (?:in)?to (?:the|an?|its"
    r"|our|`)",
    rf"{_YOU_LEAD}keep (?:\S+ ){{0,3}}(?:backwards?|compatib\w+|optional|private|public|read-?only"
    r"|in sync)\b",
    r"\b(?:postpone|defer|park) (?!it\b|that\b|this\b).{3,}|\b(?:is|are|stays?) out of scope\b"
    r"|\bleave .{3,60} (?:for|until|to) (?:v?\d|later\b|phase|the next|an? (?:later|follow))"
    r"|\b(?:can|should|will) (?:come|wait|happen|follow) (?:later|until|after|in (?:v\d|the next"
    r"|a (?:later|follow)))",
    r"\bwe can (?:drop|remove|skip|ignore|assume|live with|accept|tolerate|rely on)\b .{3,}",
    r"\bwe(?:'re| are) (?:(?:always|only|not) )?(?:using|keeping|dropping|targeting|supporting"
    r"|switching to|going with|sticking (?:with|to)|moving (?:to|away))\b .{3,}",
    r"\bwe (?:no longer|only|always|never) (?!saw|see|get|got|have|had|know|tested|changed"
    r"|did)[a-z]{3,}(?<!ed) \S+",
    rf"^\W*(?!(?:the|these|those|this|it|they|we|i|nothing)\b)(?:[\w`./-]+ ){{1,4}}(?:is|are) "
    rf"(?:always {_TREATED}|{_TREATED} (?:with|by|in|as|on|to|after|for|at|from|per))\b",
    r"^\W*(?:each|every) (?:[\w-]+ ){1,3}(?:gets (?:an?|its|one|the)|has (?:its|one|exactly)|goes "
    r"(?:through|to|into)|uses)\b",
    r"\bI want (?:all|every|each) .{3,60} (?:in|as|with|on|under)\b",
    r"^\W*(?:instead of|rather than) .{3,80},? (?:we|I|just|use|let's) ?[a-z]+",
    r"\bit(?:'s| is) (?:fine|ok(?:ay)?|acceptable) (?:if|that|when)\b .{8,}",
    rf"{_YOU_LEAD}(?:stick|stay) (?:with|to|on) (?!it\b|that\b|this\b).{{3,}}",
    rf"{_YOU_LEAD}(?:have|let|make) (?:the|each|every) (?:[\w-]+ ){{1,4}}?(?:validate|check|store"
    r"|decide|return|read|write|own|handle|keep|choose|send|fail|retry|accept|reject|use)\b",
    rf"{_YOU_LEAD}only (?:accept|load|render|include|index|{_LASTING}) .{{4,}}",
    rf"{_YOU_LEAD}(?:put|keep) (?:the|our|all|each|every) .{{3,60}} (?:behind|under|in|below"
    r"|within) \S",
    r"^\W*(?:ok(?:ay)?,? )?(?:so |then ){1,2}we (?:use|keep|store|go with|drop|return|need|call"
    r"|split|merge|only|never|always)\b .{3,}",
    r"\b(?:each|every|all) (?:[\w-]+ ){1,3}needs? (?!to\b|some\b)[a-z]\S* .{0,}",
    rf"^\W*(?!(?:i|it|this|that|there|you|they|these|those|he|she|my|what|why|how|if"
    rf"|when)\b)[^,;:?]{{3,60}}? (?:is|are|needs?|have|has|gets?|lasts?|takes?|expires?|runs?"
    rf"|stays?|lives?|keeps?) [^?]{{0,50}}\b{_BOUND}",
    r"\bonly .{2,40} (?:can|may|(?:are|is) allowed to)\b",
    rf"{_YOU_LEAD}(?:make|set) the (?:[\w-]+ ){{1,4}}?(?:to )?\d",
    r"\bI (?:just )?(?:only |don't )?want .{3,80}\b(?:only|never|always|but not|unless|by default"
    r"|everywhere|when|whenever)\b",
    r"^\W*(?:for|in|on) [^,?]{3,40}, ?we (?:only |always |just )?(?:use|support|keep|store|go)\b",
    r"^\W*[\w-]{3,20}(?: \w+)? is out\b",
    r"\bI(?:'d| would) (?:say (?:we|let's|use|go)|go (?:for|with)|keep)\b .{3,}",
    rf"{_YOU_LEAD}(?:don't|do not) [a-z]+, (?:keep|use|make|just|let|show|return|store) .{{4,}}",
    rf"{_YOU_LEAD}(?:skip|drop|omit|hide) the .{{3,60}} (?:for|in|until|on) \S",
    r"\bbut (?:use|make|keep|limit|only|without|leave|call|name|put)\b .{3,}",
    rf"\bwe(?:'ll| will) (?:do|ship|{_LASTING})\b .{{4,}}",
    rf"\blet'?s (?:just |rather |also |please |always |never )?(?:{_NEXT}|{_LASTING}\b)",
    rf"{_YOU_LEAD}use .{{2,60}}(?:, not\b|\b(?:instead|not|for|rather|everywhere|only|as)\b)"
    r"(?! (?:check|now\b|this\b|that\b))",
    rf"{_YOU_LEAD}(?:move|convert|migrate|change) (?:everything|all|every \w+|the \w+) (?:\S+ )?to"
    r" \S",
    rf"{_YOU_LEAD}go with\b (?!it\b|that\b|this\b)",
    rf"{_YOU_LEAD}use [\w`./-]+, (?:it|because|since|the|as|so|[\w-]+ (?:is|are|has|have))\b",
    rf"{_YOU_LEAD}(?:rename|replace|switch|merge|split) .{{1,80}}\b(?:to|with|into|from|by)\b \S",
    r"\bI(?:'d like| want| need| would like) (?:it|this|that|them|all|the (?:[\w/-]+ ){1,4})(?:to"
    r"|not) ",
    r"\b(?:lives?|belongs?|stays?|goes|go) (?:in|into|to|under|on) .{2,60}, (?:not|never)\b",
    r"^\W*(?:and |but |so )?(?:this|that|it) is (?:fine|ok|okay)\W*$",
    r"\bif (?:we|there|the|it|no|files|an?)\b.{3,150}(?:, ?(?:then )?we| then(?: we| it| the)?) "
    r"(?:just |then )?[a-z]{3,}",
    rf"{_YOU_LEAD}(?:never|always) (?!need|have|know|think|see|get|want|care|worry|use[ds]"
    rf"|mind)[a-z]{{2,}}(?<!ed) \S+",
    r"\b(?:wir (?:nehmen|verwenden|benutzen|sollten|machen|speichern)|lass uns|nimm|verwende"
    r"|benutze)\b(?! mal\b)|\b(?:soll|sollen|muss|müssen|darf)\b .{2,80}\b\w+en\W*$",
    r"\b(?:usemos|vamos a (?:usar|guardar|cambiar)|deber[ií]amos|en (?:vez|lugar) de)\b|\b(?:debe"
    r"|deben|tiene que|tienen que)\b \S+|(?:我们|请|就)(?:用|使用|应该|改用)|而不是|改(?:用|成|为)"
    r"|默认(?:设为|是|为|用)|(?:应该|必须)\S|ではなく|にし(?:ましょう|てください)|(?:を使"
    r"|べき)(?:う|って|い|です)",
)
USER_VERDICT = cue(
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b|\bbut instead we (?:just "
    r")?[a-z]+",
    r"^\W*(?:and |so |but )?I (?:guess|think) .{5,120}\b(?:is|are|would be) (?:fine|ok(?:ay)?"
    r"|enough|better)\b",
    r"\bI(?:'d| would) like to (?:use|keep|replace|drop|only|never|always)\b.{3,}",
    r"^\W*(?!(?:this|that|it|all|everything)\b).{3,80}\b(?:is|are) (?:good )?(?:enough|fine)(?: "
    r"for \S.*)?\W*$",
)
USER_REQUEST = cue(
    rf"{_YOU_LEAD}keep (?!going|working|reading|looking|trying|in mind|it up)"
    r"(?:the|our|all|both|using) (?!conversation|discussion).{3,}",
    r"\bcan (?:we|you)\b.{2,200}\b(?:instead(?! of)|automatically|never|always)\b",
    r"\b(?:can't|couldn't|shouldn't) (?:we|it|this|the \S+) (?:just |rather |also |only )?(?:use"
    r"|be|keep|return|store|reuse|default|call|live|go|log|fail)\b.{5,}",
    r"\b(?:can|could) we (?:also |just |please |maybe |rather )?(?:log|use|make|rename|move"
    r"|replace|drop|remove|invert|store|default|return|limit|keep|stick|avoid|skip|ignore|treat"
    r"|switch|call|surface|disable|enable|set|name|do (?:\S+ ){0,3}similar|add (?!(?:a |some "
    r"|more )?(?:tests?|docs?|comments?|logs?|logging)))\b.{5,}",
    rf"{_YOU_LEAD}(?:make|set) (?:the )?\S+(?: \S+){{0,3}} (?:by default|optional|required"
    r"|configurable|the default|private|public|read-?only)\b",
)
USER_REFUSAL = cue(
    r"(?:^|\s)(?!(?:I|you)\b)[^\s,;:]+ (?:still |really |also )?(?:should|must)(?:n't| not) (?!be "
    r"(?:able|hard|too|a problem)|have\b|we\b|matter\b|take\b|fail\b|crash\b)[a-z]{2,}",
    r"\bI (?:don't|do not) think (?:we|it|this|that|you) (?:needs?|should|has to|have to|must)\b",
    r"\b(?:we|I)(?:'ll| will)? (?:don't|do not|no longer|won't) need\b(?! (?:to (?:do|run|test"
    r"|check|wait|worry|look|talk)|anything|more)\b)|\bno need (?:to|for)\b",
    r"\b(?:we|I) (?:(?:don't|do not) (?:want|maintain|ship|support)|(?:won't|will not|never) "
    r"(?:use|support|ship|maintain|allow|add|store|keep|introduce))\b(?! (?:to (?:wait|bother|know"
    r"|see|be)|you|it|that|this)\b)",
    r"^\W*no (?!problem|idea|worr|need|rush|luck|errors?|changes?|more|tests?|difference|way"
    r"|one\b)[\w-]+(?: [\w-]+)?(?: (?:please|for the|here|in the)\b| in .{3,40} please\b)",
    r"\b(?:is|are|would be) (?:too (?:much|heavy|complex|complicated)|more than we need)\b(?:,? "
    r"(?:for|here|to)\b)",
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b",
    rf"(?:{_START}|[,;:.\u2013\u2014-] ?)(?:let's not|don't|do not)"
    r" (?!need|have|know|think|see|get|want|care|worry|use[ds]|forget|you\b|we\b|i\b|do\b|be\b"
    r"|let\b|go\b|run\b|start\b|stop\b|commit\b|push\b)[a-z]{2,}(?<!ed) \S+",
    r"\b(?:keine?n?|nicht) .{3,60}\b(?:brauchen|verwenden|benutzen|nötig)\b|\b(?:brauchen|wollen"
    r"|möchten) (?:wir |hier )?(?:keine?n?|nicht)\b|\bno (?:uses|usemos|hace falta|necesitamos"
    r"|queremos|añadas|agregues)\b|不(?:要|需要|用)(?:再|在|用|加|写)?\S|(?:追加|使用|変更"
    r"|作成)しないで|使わないで|は(?:不要|必要ありません)",
)
USER_DOUBT = cue(
    r"\bdo we (?:really |even |actually )?need (?:to|an?|the|all|both)\b",
    r"^\W*(?:is there no|isn't there (?:an?|already|some)|don't we already have) .{5,}",
    r"\bwhy (?:would|do|should) we (?:even |ever |really )?need (?:to|an?|the|all|both)\b",
)
CONTRAST_OF_USER = cue(
    r"\binstead\b|\brather\b(?! not\b)|\bbut (?:as|in|on|with|by|for|from|use|we|just)\b|, (?:use"
    r"|just|let's)\b"
)
USER_FACT = cue(
    r"^\W*(?:what|why|how|where|who|which|is|are|does|do|did|has|have|can you check)\b(?!n't)",
    r"\b(?:consider|recommend\w*|suggest\w*|alternatively|wondering|not sure|curious|maybe|perhaps"
    r"|seems?|guess)\b",
    r"\bI should\b|\b(?:network|ci|build|tests?) should\b(?! (?:never|always|only|not)\b)",
    r"\b(?<!return an )(?<!return the )(?<!raise an )(?<!throw an )(?:(?<!as )errors?(?! "
    r"(?:messages?|codes?|pages?|handl\w+|class\w*|types?|should|must|go(?:es)?)\b)|failing"
    r"|crash\w*)\b|\b(?:the|an?|this) (?:issue|problem|bug)\b",
    r"^\W*(?:and |but |so )?if (?:this|that|it|we) (?:were|was|had|did)\b|\bwould have \w+(?:ed"
    r"|n)\b",
)
ONCE = cue(
    r"\b(?:let'?s|can (?:we|you)|could (?:we|you)|please|^(?:and |then |also |now |ok |so |first "
    r")?)(?: |^)?(?:also |just |please |now |first |quickly )*(?:check|see|look|review|discuss|try"
    r"|run|re-?run|test|commit|push|clarify|explain|investigate|continue|proceed|have a|show me"
    r"|tell me|give me|list|summari[sz]e|open|deploy|install|start|begin|talk|read|go (?:on|ahead"
    r"|back|through)|create (?:a|an|the|another) (?:\S+ )?(?:branch|pr|pull request|issue|commit)"
    r"|use (?:the|your) \S+ (?:tool|skill|agent|mcp|browser|terminal|command)|make sure|do (?:a"
    r"|another|some)\b|do (?:it|that|this)(?: again| too| now)?\W*$|make (?:a|another) (?:commit"
    r"|pr|plan|branch|list|copy|backup)|make it better|(?:write|add|create|update|fix) (?:a |an "
    r"|some |more |the |another )?(?:\S+ ){0,2}(?:tests?|comments?|docstrings?|changelog|readme"
    r"|typos?|plan|docs?|documentation))\b",
    r"\b(?:first|before (?:you|we) (?:start|begin|continue|go on))\W*$",
    r"\b(?:today|tonight|tomorrow|over ?night|before lunch|this time|before (?:we|you|I) (?:push"
    r"|merge|commit|ship|release|deploy))\W*$|\bwhile I\b",
    r"\b(?:rename|change|use|name|call|switch|keep|update|edit|go with|merge"
    r"|rebase)\b.{0,30}\b(?:the|this|that|our|my|your|same)(?: \w+)? (?:(?:feature |main |current "
    r")?branch(?! name)|commit messages?|pr (?:title|description|body)|server running|diff|todo "
    r"list|seed)\b",
    r"\bdebug (?:prints?|logs?|statements?|output)\b|\bprint statements?\b",
    r"\blet's (?:keep (?:going|it\b|that\b|this\b)|write (?:this|that|it) down|use the time|call "
    r"it|stop here|move on)",
    r"\b(?:we|you|I)(?:'ll| will)? (?:need|have) (?:you )?to (?:fix|check|find|look|debug|update"
    r"|solve|clean|finish|get|understand|push|wait)\b",
)
"""Requests to do something once."""
TAG_QUESTION = re.compile(r",? (?:right|ok(?:ay)?|or|no|correct|yes) ?\?+\W*$", re.IGNORECASE)
LEAVES_OPEN = cue(
    r"\b(?:you (?:decide|choose|pick)|up to you|your (?:call|choice)|(?:I )?(?:don't|do not) know"
    r"|not sure|no (?:idea|preference|opinion)|whatever)\b"
)
AGREES = cue(
    r"^\W*(?:you're|you are) (?:absolutely |totally )?(?:right|correct)\b|^good (?:point|catch"
    r"|idea)\b"
)
POINTS = cue(
    r"\b(?:it|they|them|these|those|their)\b(?!'s (?:simple|easy|fine|better|hard))",
    r"\b(?:this|that)(?:'s|'ll)?(?: (?:would|will|is|was|should|does|do|just|still|now|way|as|in"
    r"|for|to|and|or|instead|too|one)\b|[ ]?$|[.,?!;:)])",
    r"\b(?:this|that) (?:fix|change|approach|issue|problem|scenario|case|error|solution|function"
    r"|file|test|line|part|step|method|code|class|command|message|behaviou?r|thing|feature|plan"
    r"|idea)\b",
    r"\bthe (?:first|second|third|other|latter|former|above|same) (?:one|approach|option|way|thing"
    r"|idea|version)\b|\b(?:option|approach) (?:[a-d]|\d)\b|#\d\b|\babove\b",
)
"""Pronouns that may refer to another sentence."""
POINTS_AT_MANY = cue(
    r"\b(?:these|those|them|they|above|below|here|there|the same|the (?:first|second|third|other"
    r"|latter|former))\b|#\d\b"
)
"""Several things, or a place of a text: one sentence is not what they mean."""
WAVERS = cue(r"\b(?:actually|hmm|wait|scratch that|on second thought)\b|\?")
POINTS_FIRST = cue(
    r"^\W*(?:and |so |but )?(?:should|must) be\b|^\(",
    r"^\W*(?:and |so |but |now,? |then |also |i (?:think|guess) (?:that )?|yes,? |no,? ){0,3}(?:it"
    r"|they|these|those|this|that)(?:'s|'re|'ll)? (?:is|are|was|were|will|would|should|must|can"
    r"|could|may|might|does|do|has|have|makes?|means?|needs?|still|just|now|also|never|only|always"
    r"|[a-z]+s)\b(?! (?:simple|easy) enough)",
)
PART_END = cue(r"[,;:(]|\b(?:because|since|so|but|if|when|and)\b")
"""Before a pronoun that refers to another part of its sentence."""
CONDITION = cue(r"^(?:if|when|otherwise|then|now|it|this)\b")
CONTRAST_START = re.compile(
    r",? but (?:instead |rather )?(?:we |I )?|[,;] (?:instead|rather),? ", re.IGNORECASE
)
"""Between what is rejected and what is chosen for it."""
CORRECTS = cue(
    r"^\W*(?:(?:oh|ok(?:ay)?|hmm+|sorry|wait)[,.!: ]+)*(?:no|nope|nein|actually|rather|wait"
    r"|scratch that|on second thought|(?:I(?:'ve)? )?changed my mind|instead|doch lieber"
    r"|mejor)(?:[,.!:;\u2013\u2014-]|\b(?= (?:rather|use|make|keep|let's|go with|put|call)\b)"
    r"|(?<=ly)\b|(?<=her)\b)|\bI changed my mind\b|^不是?[,\uff0c]|^やっぱり",
)
"""Begins a clause that takes back what was decided before."""
TAKES_BACK = re.compile(
    r"^\W*(?:(?:no|ok(?:ay)?|actually|please|hmm+|sorry|let's|can you|could "
    r"you)\b[\s,.:!]*)*(?:revert|undo|roll back|back out|take back|scrap|get rid of) (?:(?:all "
    r")?(?:that|this|it|those|these)|(?:the|that|this|your|my) (?:last |latest |previous "
    r")?(?:changes?|edits?|idea|decision|one))(?: (?:change|edit|one)s?)?\b(?!'s)",
    re.IGNORECASE,
)
AGENT_REJECTED = cue(
    r"\b(?:I|we)(?:'ve| have)? (?:decided against|ruled out|rejected|discarded|decided not to)\b"
)
QUESTION_TAIL = re.compile(
    r", (?:is|are|can|could|do|does|what|how|why|should|would|any) (?:(?:there|you|we|it|that|this"
    r"|the|I)\b|idea)[^.!\n]*\??$",
    re.IGNORECASE,
)
"""A question after a statement."""
NEGATES = cue(
    r"\b(?:never|not|no longer|without|stop|avoid|remove|drop|revert|disable|skip)\b|n't\b"
)
LABEL = re.compile(
    r"[A-Z][\w /()-]{2,40}: (?:Moved|Changed|Switched|Replaced|Made|Kept|Dropped|Inverted)\b"
)
"""The name of what a line of a list changed."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.:]\d+)*(?!\w)")
ASIDE_START = re.compile(r" [-\u2013\u2014] | \(")
CLAUSE_END = re.compile(
    r"(?<=[.!?]) +(?![.?!])|(?<=[:;]) +(?=(?:I|we|let's|don't|please|use|no|and|so)\b)",
    re.IGNORECASE,
)
"""Users begin sentences in lower case, too."""
TURN = re.compile(r"[,;:]? (?=(?:but|however|so|instead|and then)\b)")
"""Where a long clause may be cut."""
LEAD = re.compile(r"^[^\w`\"'(]+|^`[\w./-]+\.\w{1,5}`(?: -|:) ")
USER_LEAD = re.compile(
    r"^[^\w`\"'(\[#]*(?:after [^,]{0,20}(?:thinking|thought|discussi)[^,]{0,30}, )?(?:(?:(?:yes"
    r"|yeah|ok|okay|and|but|also|oh|hmm|ah|please|pls|hey|then|so)\b(?!-)|(?:no|nope|stop|actually"
    r"|right|great|perfect|cool|nice|thanks|thank you|sure|wait|sorry|well|now|good|q|got it"
    r"|understood|exactly|agreed|decision|(?:that )?makes sense|looks good|my bad|one more thing"
    r"|on second thought|true|yep|correct|bitte|nein|ja|no entiendo|por favor|perfecto)(?:[,.!:;]"
    r"|(?= [\u2013\u2014-] )))[\s,.:!;\u2013\u2014]*){0,5}(?:I (?:think|guess|believe) (?:that "
    r")?(?=\S+ \S+ )|can we (?:(?:also|just|please|maybe) )*)?",
    re.IGNORECASE,
)
ASKED_FOR = cue(r"^\W*(?:\w+,? ){0,2}(?:can|could) (?:we|you)\b")
USER_REQUESTED = re.compile(
    r"^(?:(?:can|could) (?:we|you) (?:(?:please|also|just|maybe) )*)?(.{8,}?)(?:,? ?\b(?:or|right"
    r"|okay|ok|please|thanks))?[ ?]*\?+$",
    re.IGNORECASE | re.DOTALL,
)
"""A request in the form of a question."""
REMINDS = cue(rf"{_START}remember\b")
NEXT_STEP = cue(
    r"\b(?:next|proceed|continue|ready to|right now|(?:commit|push) (?:and|these|the|this|now|it)"
    r"|open (?:a|the) (?:pr|pull)|delete (?:it|these|this)|run (?:it|the))\b|^(?:delete|continue"
    r"|overwrite|confirm)\b"
)
"""In a question about what to do once."""
CODE_NAME = re.compile(
    r"`[^`\s]{2,80}`|(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.[a-z]\w{0,4}(?![\w/.-])|(?<!\w)--[a-z][\w-]+"
    r"|(?<=\w )[A-Z]\w+|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\b[a-zA-Z]+_\w+\b"
    r"|\b[A-Z]{2,}[\w-]*\b"
)
"""What looks like a name: in backticks, a path, an option, with capitals."""
AGENT_LEAD = re.compile(
    r"^[^\w`\"'(]*(?:(?:perfect|great|good|done|excellent|now|ok(?:ay)?|yes|right|so|also|and|all "
    r"set|you're (?:absolutely )?right)[,.!:]* [\s\u2013\u2014-]*)+",
    re.IGNORECASE,
)
CODE = re.compile(r"`[^`]*`")
ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s|er|ly)$")
CONTENT_WORD = re.compile(r"[^\W_]{3,}")


def wordings() -> dict[str, frozenset[str]]:
    return {
        name: frozenset({pattern.pattern})
        for name, pattern in globals().items()
        if isinstance(pattern, Cue | re.Pattern)
    }
