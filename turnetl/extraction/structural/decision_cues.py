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


QUESTION = _any(
    r"[?\uff1f]\W*$",
    r"^\W*(?:should|shall|would|could|can|will|do|does|did|is|are|was|were|has|have|why|what|how"
    r"|when|where|who|which) (?:I|we|it|this|that|there|you|the|they)\b(?!.{0,60}, )",
    r"(?:吗|呢|ですか|ますか|でしょうか)\W*$",
    r"^\W*(?:soll(?:te)?(?:n|st)?|k[öo]nn(?:t?en|test|st)|kann(?:st)?|puedes|podr[ií]as|deber[ií]a"
    r"(?:mos)?) (?:ich|wir|du|sie|man)?\b.*[?]",
)
OPEN_QUESTION = _any(
    r"^\W*(?:(?:and|but|so|also|q:) )?(?:how|what|where|which|who|when) (?:can|could|should|do|does"
    r"|would|is|are|to)\b"
)
"""It has no answer yes or no, and so asks for nothing that a turn may just do."""
DECIDED = _any(
    r"\b(?:I|we)(?:'ve| have)? (?:decided|chose|opted|agreed|settled) "
    r"(?!to (?:check|look|try|see|test|wait|ask)\b)",
    r"^(?:decided|opted|settled) (?:to|on|against|for)\b|^(?:chose|went with) \S",
    r"(?:^|[,;:] )decision(?: is| was)?: ",
    r"\bwir haben (?:uns )?(?:entschieden|beschlossen)\b|\bhemos decidido\b"
    r"|(?:我们)?决定|ことにし(?:た|ます)",
)
"""In the first person and the past: nothing that follows makes it undecided."""
DECIDING = _any(
    r"^(?:I|we)(?:'ll| will|'m|'re| am| are)? (?:going |go |stick |sticking |settled |settle )"
    r"(?:with|on|to using)\b",
)
PREFERRED = _any(
    r"\bI(?: really| much| strongly| generally| usually)? prefer\b"
    r"(?! (?:to (?:know|see|hear|understand)|not to say)\b)",
    r"\bmy preference is\b",
    r"\bI (?:always|never|usually) (?:want|use|write|like)\b",
    r"\bI (?:hate|love|like) (?:it )?(?:when|to have|having)\b",
    r"\b(?:ich bevorzuge|mir ist lieber|prefiero)\b"
    r"|我(?:更)?(?:喜欢|偏好)|(?:のほう|の方)が(?:好き|いい)",
)
WOULD_RATHER = _any(
    r"\bI(?:'d| would)(?: really| much| strongly)? (?:prefer|rather)\b"
    r"(?! (?:to )?(?:know|see|hear|understand|if you|you|wait))"
)
"""A choice about one thing, no preference that lasts."""
_START = r"^\W*(?:(?:and|also|please|pls|but|so|just|ok|okay),? ){0,3}"
STANDING_ORDER = _any(
    r"\bfrom now on\b|\bgoing forward\b",
    r"\bin (?:the )?future,? (?:please|always|never|don't|do not)\b",
    r"\bplease (?:always|never) [a-z]+",
    r"^(?:[^,.]{1,60}, )?(?:always|never) (?:ask|commit|push|use|run|write|add|start|create|merge"
    r"|edit|delete|install|follow|explain|test|update|read|check)\b",
    rf"{_START}stop (?:asking|adding|using|creating|writing|committing|explaining"
    rf"|apologi[sz]ing)\b",
    rf"{_START}(?:remember|make sure|be sure) (?:to always|to never|you always|you never"
    rf"|that we)\b",
    rf"{_START}(?:don't|do not|never"
    r"|avoid) (?:ever )?(?:commit|push|amend|rebase|force"
    r"|squash|merge|ask|mock|guess|assume|use emojis?|apologi[sz]e|explain|summari[sz]e|touch"
    r"|edit|modify|create|add|write|install)\b"
    r".{0,40}\b(?:commits?|main|master|branch(?:es)?|mocks?|comments?|docstrings?|emojis?"
    r"|markdown|directly|permission|without|unless|until|ever|anything (?:else|without)"
    r"|yourself|me)\b",
    rf"{_START}keep (?:our|my|your|all) [^.?!]{{3,60}} in \S",
    rf"{_START}ask (?:me |for (?:permission|confirmation) |us )?(?:first )?before\b",
    rf"{_START}(?:keep|make) (?:each|every|all|your|the)? ?(?:commits?(?: messages?)?"
    r"|answers?|responses?|repl(?:y|ies)|prs?|pull requests?|explanations?|summaries|functions"
    r"|names?)\b (?!as is\b|in mind\b|from\b|that\b)",
    r"\b(?:each|every|all|any)(?: new)? (?:commits?|prs?|pull requests?|changes?|functions?"
    r"|files?|class(?:es)?|modules?|features?|endpoints?|public \w+)\b.{0,40}\b(?:should|must"
    r"|has to|have to|needs?)\b",
    r"^(?:for|in|on) (?:the|all|any|each|every) (?!ones?\b|other).{3,80}, (?:please|always"
    r"|never)\b",
    r"\bin (?:this|our) (?:project|repo\w*|code ?base|team),? we (?:only |always |never )?"
    r"(?:use|write|do|don't|keep|name|follow|put|test|prefer)\b",
    r"^\W*we (?:(?:always|never|only) [a-z]+|use|write|name|put|prefer|follow) .{2,80}"
    r"(?:, (?:not|never)\b|\b(?:everywhere|for all|(?:in this|in our|here)"
    r"(?: project| repo\w*| code ?base)?)\b)",
    r"\b(?:ab jetzt|ab sofort|in zukunft|künftig|a partir de ahora|de ahora en adelante)\b"
    r"|^\W*(?:bitte )?(?:schreib|nutz|verwende|benutz|committe|frag)\w* .{0,40}\b(?:immer"
    r"|nie(?:mals)?)\b"
    r"|^\W*(?:por favor,? )?(?:siempre|nunca) \w+|以后|从现在开始|今後は|これからは|常に|毎回",
)
NOT_NOW = _any(
    r"\b(?:don't|do not) (?:(?:make|edit|change|touch|modify|write|do|implement|start|fix|commit"
    r"|push)\b.{0,30}\b(?:any(?:thing)?|yet|code|files?|for now)\b(?! (?:that|which|else|without))"
    r"|worry|bother|stop|panic|hesitate|mind|understand|remember|forget|get|see|break)",
    r"\b(?:at some point|some ?day|eventually|probably|later on|for a (?:sec|moment|minute)"
    r"|one day|in case you)\b",
)
"""Holds for the answer, or for nobody knows when."""
HEARSAY = _any(
    r"\b(?:according to|(?:the|your|this|my|our|its) (?:\S+ ){0,2}(?:docs?|documentation|spec\w*"
    r"|reviewer|readme|error|compiler|linter"
    r"|message|comment|article|issue|warning|log|colleague|boss|manager|team|client|customer)s?"
    r" (?:says?|said|states?|mentions?|claims?|thinks?|wants?|suggests?|recommends?|wrote"
    r"|asked))\b",
    r"\b(?:he|she|they|someone|somebody|people|claude|copilot|codex|gemini|chatgpt) (?:says?|said"
    r"|thinks?|use|wrote|suggests?|suggested|recommends?|recommended|told)\b",
    r"\bI (?:was reading|(?:read|saw|heard) that)\b",
    r"^\W*(?:understood|got it|noted|acknowledged|done|clarification|scenario|question|example"
    r"|context|expected|actual|note)\b(?= ?[.,:!\u2013\u2014-])",
    r"^\s*(?:#|//|/\*|\*|>) ?\S",
)
"""What others say, and what an agent echoes."""
DESCRIBED = _any(
    r"\bI just\b|\b(?:I|it|this|that|we) (?:accidentally|already|had|was|did|saw|tried|used to|used"
    r"|changed|added|put|moved|renamed|removed|replaced)\b",
    r"^(?:I|we) have\b",
    r"\b(?:is|are|was|were|gets?|got|has been|have been|being) (?:\w+ed|shown|sent|built|read|run"
    r"|set|done) (?:\S+ ){0,3}(?:instead of|rather than)\b",
    r"\b(?:you should (?:see|get|have|be|find|know|notice)|there should (?:be|exist))\b",
    r"\bthe (?:previous|old|current|existing|last) \S+ (?:used|uses|was|is|has|had|did|does)\b",
)
"""What was done, or what the agent is going to see."""
REJECTED = _any(
    r"\boverkill\b|\bover-?engineer(?:ed|ing)\b",
    r"(?:\bnot|n't) worth (?:it|the|doing|adding|supporting)\b",
    r"\bjust adds? (?:complexity|noise|overhead|risk)\b",
    r"\b(?:to+ much|needless|unnecessary|unneeded) (?:complexity|risk|overhead|noise)\b",
    r"\bI (?:don't|do not) (?:want|like)\b(?! to (?:bother|be|sound|interrupt)| you\b)",
    r"\b(?:I|we) (?:rejected|declined|discarded|ruled out|decided against)\b",
    r"\b(?:I'm|I am|we are|we're) against (?:\w+ing|the|an?)\b",
    r"\bwhy (?:would|do|should) (?:we|I|you|it) (?:even |ever |really )?(?:need|want|have|add"
    r"|use)\b",
)
UNDECIDED = _any(
    r"\b(?:if you|would|you could|you can|you'd|you'll|could|might|may|maybe|perhaps|possibly"
    r"|alternatively|options?|should (?:I|we)|shall|do you|can you|whether|let me know|not sure"
    r"|wonder(?:ing)?|either|consider|recommend\w*|suggest\w*|propos\w+|depends?|assum\w+"
    r"|unlikely|likely|probably|seems?|appears?|or just|or should|you want|you asked|you mean)\b",
)
STEP = _any(
    r"^(?:(?:now|next|first|then|ok|okay|good|great|perfect|so|also|and|actually|wait|hmm|ah|yes"
    r"|right)\b[,.!:]? ?){0,3}"
    r"(?:let(?:'s| me| us)\b|I should\b|I(?:'ll| will| need| want| have| can| see|'m| am|'ve)\b"
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
_LASTING = (
    r"(?:use|keep|go with|stick|switch|move|adopt|drop|avoid|replace|skip|remove|support|store"
    r"|treat|default|leave|make|rely|only|always|never|not|call|rename|merge|split|ignore|limit"
    r"|require|allow|enable|disable|log|return|cache|track|revert to|stay|target|base|set|name|put"
    r"|convert|write|read|send|show|hide|round|validate|expose|have)"
)
_NOT_A_RULE = (
    r"(?!be (?:able|fine|good|better|ok(?:ay)?|done|easy|enough|possible|working|ready|hard|nice"
    r"|clear|visible|gone|there)\b|work\b|pass\b|see\b|look\b|check\b|help\b|do (?:it|that|this)\b"
    r"|have (?:been|a look)|not\b|i\b|we\b|it\b|start\b|test\b|try\b|run\b|discuss\b|investigate\b"
    r"|wait\b|ask\b|talk\b|think\b|first\b|figure\b|find\b|review\b|compile\b|build\b|finish\b"
    r"|continue\b|proceed\b|commit\b|push\b|probably\b|maybe\b)"
)
USER_RULE = _any(
    rf"{_YOU_LEAD}(?:log|return|raise|throw|cache|round|hide|expose|allow|require|reject|retry"
    r"|disallow|forbid|enforce) (?:the|an?|all|every|only|any|no|each) .{6,}",
    r"^\W*(?:no|nope|actually|wait|sorry|instead|rather)\b\W*(?:rather |please |just |let's ){0,2}"
    r"(?:use|make|keep|put|call|name|store|set|return|go with|leave) .{6,}",
    r"(?:^|\s)(?!(?:I|you|he|she|who|what|which|why|how|where|when|there|else|also|still|just"
    r"|really|then|now|do|don't|might|would|will|remember)\b)[^\s,;:]+ "
    r"(?:should|must|has to|have to|needs to|need to|shall)"
    rf"(?: never| always| only| still| no longer| also| just| therefore| then)? {_NOT_A_RULE}"
    r"[a-z]{2,}",
    rf"{_YOU_LEAD}(?:should|must) (?:be|only|always|never|use|stay) {_NOT_A_RULE}",
    rf"{_YOU_LEAD}(?:put|place|store|name|call|return|send|save|keep|write|read|make) .{{2,80}}"
    r"(?:, (?:not|never) \S|\b(?:instead of|rather than|by default)\b|\binstead[.!]*$)",
    rf"{_YOU_LEAD}(?:change|set|raise|lower|increase|reduce|bump|limit) .{{2,60}} (?:from \S+ )?to "
    r"`?\d",
    rf"{_YOU_LEAD}(?:drop|remove|add|keep) (?:the )?support for\b",
    r"\bbut (?:use|make|keep|limit|only|without|leave|call|name|put)\b .{3,}",
    r"\bwe (?:no longer|only|never|always) (?:use|support|need|want|keep|store|allow)\b",
    rf"\b(?:we|I)(?:'ll| will| want to|'d like to) {_LASTING}\b.{{2,120}}"
    r"\b(?:instead of|rather than|not|only|for|as)\b",
    rf"\blet'?s (?:just |rather |also |please |always |never |not )?{_LASTING}\b",
    r"\blet'?s (?:also |just )?add\b.{3,120}\b(?:to say|that says?|so that|instead|when|if|for)\b",
    rf"{_YOU_LEAD}(?:move|convert|migrate|change) (?:everything|all|every \w+"
    rf"|the \w+) (?:\S+ )?to \S",
    rf"{_YOU_LEAD}use .{{2,60}}(?:, not\b|\b(?:instead|not|for|rather|everywhere|only|as)\b)"
    r"(?! (?:check|now\b|this\b|that\b))",
    rf"{_YOU_LEAD}go with\b (?!it\b|that\b|this\b)",
    rf"{_YOU_LEAD}(?:rename|replace|switch|merge|split) .{{1,80}}\b(?:to|with|into|from|by)\b \S",
    r"\bI(?:'d like| want| need| would like) (?:it|this|that|them|all|the (?:[\w/-]+ ){1,4})"
    r"(?:to|not) ",
    r"\bonly \w+s? (?:can|may|are allowed to)\b",
    r"\b(?:lives?|belongs?|stays?|goes|go) (?:in|into|to|under|on) .{2,60}, (?:not|never)\b",
    r"^\W*(?:and |but |so )?(?:this|that|it) is (?:fine|ok|okay)\W*$",
    r"\bif (?:we|there|the|it|files|an?)\b.{3,150}, ?(?:then )?we (?:just |then )?[a-z]{3,}",
    r"\bif (?:there(?:'s| is| are)?|no|the|it|we)\b.{3,150} then (?:we |it |the )?[a-z]{3,}",
    rf"{_YOU_LEAD}(?:never|always) (?!need|have|know|think|see|get|want|care|worry"
    rf"|use[ds]|mind)[a-z]{{2,}}(?<!ed) \S+",
    r"\b(?:wir (?:nehmen|verwenden|benutzen|sollten|machen|speichern)|lass uns|nimm|verwende"
    r"|benutze)\b(?! mal\b)|\b(?:soll|sollen|muss|müssen|darf)\b .{2,80}\b\w+en\W*$",
    r"\b(?:usemos|vamos a (?:usar|guardar|cambiar)|deber[ií]amos|en (?:vez|lugar) de)\b"
    r"|\b(?:debe|deben|tiene que|tienen que)\b \S+"
    r"|(?:我们|请|就)(?:用|使用|应该|改用)|而不是|改(?:用|成|为)|默认(?:设为|是|为|用)|(?:应该|必须)\S"
    r"|ではなく|にし(?:ましょう|てください)|(?:を使|べき)(?:う|って|い|です)",
)
USER_VERDICT = _any(
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b"
    r"|\bbut instead we (?:just )?[a-z]+",
    r"^\W*(?:and |so |but )?I (?:guess|think) .{5,120}\b(?:is|are|would be) (?:fine|ok(?:ay)?"
    r"|enough|better)\b",
    r"\bI(?:'d| would) like to (?:use|keep|replace|drop|only|never|always)\b.{3,}",
)
USER_REQUEST = _any(
    rf"{_YOU_LEAD}keep (?!going|working|reading|looking|trying|in mind|it up)"
    r"(?:the|our|all|both|using) (?!conversation|discussion).{3,}",
    r"\bcan (?:we|you)\b.{2,200}\b(?:instead(?! of)|automatically|never|always)\b",
    r"\b(?:can|could) we (?:also |just |please |maybe |rather )?(?:log|use"
    r"|make|rename|move|replace|drop|remove|invert|store|default|return|limit|keep|stick"
    r"|avoid|skip|ignore|treat|switch|call|surface|disable|enable|set|name|do (?:\S+ ){0,3}similar"
    r"|add (?!(?:a |some |more )?(?:tests?|docs?|comments?|logs?|logging)))\b.{5,}",
    rf"{_YOU_LEAD}(?:make|set) (?:the )?\S+(?: \S+){{0,3}} (?:by default|optional|required"
    r"|configurable|the default|private|public|read-?only)\b",
)
USER_REFUSAL = _any(
    r"(?:^|\s)(?!(?:I|you)\b)[^\s,;:]+ (?:still |really |also )?(?:should|must)(?:n't"
    r"| not) (?!be (?:able|hard|too|a problem)|have\b|we\b|matter\b|take\b|fail\b"
    r"|crash\b)[a-z]{2,}",
    r"\bI (?:don't|do not) think (?:we|it|this|that|you) (?:needs?|should|has to|have to|must)\b",
    r"\b(?:we|I)(?:'ll| will)? (?:don't|do not|no longer|won't) need\b|\bno need (?:to|for)\b",
    r"\bnot (?:as|in|on|with|by|for|from|the|a|an) .{2,60}, but\b",
    rf"(?:{_START}|[,;:.\u2013\u2014-] ?)(?:let's not|don't|do not)"
    r" (?!need|have|know|think|see|get|want|care|worry|use[ds]|forget|you\b|we\b"
    r"|i\b|do\b|be\b|let\b|go\b|run\b|start\b|stop\b|commit\b|push\b)[a-z]{2,}(?<!ed) \S+",
    r"\b(?:keine?n?|nicht) .{3,60}\b(?:brauchen|verwenden|benutzen|nötig)\b"
    r"|\b(?:brauchen|wollen|möchten) (?:wir |hier )?(?:keine?n?|nicht)\b"
    r"|\bno (?:uses|usemos|hace falta|necesitamos|queremos|añadas|agregues)\b"
    r"|不(?:要|需要|用)(?:再|在|用|加|写)?\S|(?:追加|使用|変更|作成)しないで|使わないで|は(?:不要|必要ありません)",
)
USER_DOUBT = _any(
    r"\bdo we (?:really |even |actually )?need (?:to|an?|the|all|both)\b",
    r"\bwhy (?:would|do|should) we (?:even |ever |really )?need (?:to|an?|the|all|both)\b",
)
CONTRAST_OF_USER = _any(
    r"\binstead\b|\brather\b|\bbut (?:as|in|on|with|by|for|from|use|we|just)\b|, (?:use|just"
    r"|let's)\b"
)
USER_FACT = _any(
    r"^\W*(?:what|why|how|where|who|which|is|are|does|do|did|has|have|can you check)\b(?!n't)",
    r"\b(?:consider|recommend\w*|suggest\w*|alternatively|wondering|not sure|curious|maybe|perhaps"
    r"|seems?|guess)\b",
    r"\bI should\b|\b(?:network|ci|build|tests?) should\b(?! (?:never|always|only|not)\b)",
    r"\b(?<!return an )(?<!return the )(?<!raise an )(?<!throw an )(?:errors?(?! (?:messages?"
    r"|codes?|pages?|handl\w+|class\w*|types?)\b)|failing"
    r"|crash\w*)\b|\b(?:the|an?|this) (?:issue|problem|bug)\b",
    r"^\W*(?:and |but |so )?if (?:this|that|it|we) (?:were|was|had|did)\b"
    r"|\bwould have \w+(?:ed|n)\b",
)
ONCE = _any(
    r"\b(?:let'?s|can (?:we|you)|could (?:we|you)|please|^(?:and |then |also |now |ok |so "
    r"|first )?)(?: |^)?(?:also |just |please |now |first |quickly )*"
    r"(?:check|see|look|review|discuss|try|run|re-?run|test|commit|push|clarify|explain|investigate"
    r"|continue|proceed|have a|show me|tell me|give me|list|summari[sz]e|open|deploy|install"
    r"|start|begin|talk|read|go (?:on|ahead|back|through)|create (?:a|an|the|another) (?:\S+ )?"
    r"(?:branch|pr|pull request|issue|commit)|use (?:the|your) \S+ (?:tool|skill|agent|mcp|browser"
    r"|terminal|command)"
    r"|make sure|do (?:a|another|some)\b|do (?:it|that|this)(?: again| too| now)?\W*$"
    r"|make (?:a|another) (?:commit|pr|plan|branch|list|copy|backup)|make it better|(?:write|add"
    r"|create|update|fix)"
    r" (?:a |an |some |more |the |another )?(?:\S+ ){0,2}(?:tests?|comments?|docstrings?"
    r"|changelog|readme|typos?|plan|docs?|documentation))\b",
    r"\b(?:first|before (?:you|we) (?:start|begin|continue|go on))\W*$",
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
    r" (?!we\b|i\b|you\b|remember|think|tell|wait|say|decide|believe|help)[a-z]{3,}",
    r"\b(?:looks?|seems?|is|are|feels?|appears?)(?: to be| still| now| pretty| really| totally"
    r"| completely| very| a bit| quite){0,2}"
    r" (?:broken|wrong|off|weird|stale|missing|truncated|garbled|corrupt(?:ed)?|incorrect|laggy"
    r"|flaky|unusable|annoying|confusing"
    r"|hard to (?:read|debug|use|follow|find|see)|slow|duplicated|too (?:slow|small|big|long"
    r"|large|noisy|verbose))\b(?! in advance)",
    r"\b(?:goes|went|turns?|turned|gone|becomes?|became) (?:stale|missing|blank|black|wrong|empty"
    r"|slow)\b|\b(?:ci|builds?|pipelines?|main|checks?|workflows?) (?:is|are|went|goes|turned)"
    r"(?: still| now| all)? red\b",
    r"\b(?:annoying|annoys|frustrating|confusing|makes .{2,60} (?:harder|difficult|impossible"
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
    r"|undefined|unhandled|reached|called|executed|validated|checked|handled|closed"
    r"|escaped)\b(?<!is called)(?<!are called)(?<!is handled)(?<!is checked)(?<!is executed)",
    r"\b(?:nothing happens|(?:is|are|was) (?:cut off|overwritten|ignored|swapped|reversed|skipped"
    r"|wrongly \w+|duplicated|blurry|misaligned)|grows? (?:to|without|until|endlessly))\b",
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
ASKS_WHY = _any(r"\bwhy\b|\bhow come\b|\bwarum\b|\bpor qu[eé]\b|为什么|なぜ|どうして")
TAG_QUESTION = re.compile(r",? (?:right|ok(?:ay)?|or|no|correct|yes) ?\?+\W*$", re.IGNORECASE)
LEAVES_OPEN = _any(
    r"\b(?:you (?:decide|choose|pick)|up to you|your (?:call|choice)|(?:I )?(?:don't|do not) know"
    r"|not sure|no (?:idea|preference|opinion)|whatever)\b"
)
WHY = _any(r"^\W*(?:but |so )?why\W*\?\W*$")
REVIEW = _any(
    r"\bconsider (?:either )?(?:an? |the |\w+ing\b)|\b(?:we|I|I'd) (?:suggest|recommend)\b"
    r"|^(?:suggestion|severity|nit)\b"
)
"""A comment of a reviewer: it begins with the problem."""
HYPOTHETICAL = _any(
    r"^\W*(?:(?:yes|yeah|no|and|but|so|also|like)\b\W*){0,2}"
    r"(?:if|when(?:ever)?(?! (?:i|we|you|users?|an? user)\b)|in case|should"
    r"|what (?:if|happens)|suppose|unless)\b(?!.{0,80}\b(?:i|we) (?:get|got|see|saw)\b)",
    r"\b(?:if|in case|when) (?:the|we|it|there|a|an|that|this|\S+) (?:\S+ ){0,4}(?:fails?|failed"
    r"|crash\w*|is missing|throws?|can't|cannot)\b",
    r"\b(?:does|do|did|will|would|could|can|is|are|should) (?:it|this|that|they|we"
    r"|the \S+) (?:\S+ )?(?:fail|crash|break|work|hang)\b",
    r"\b(?:should|must|could|might|may) (?:then |now |also |just |rather |always )?(?:fail|throw"
    r"|error|crash|break|return an error)\b",
    r"\bno (?:errors?|issues?|problems?|failures?|warnings?)\b|\bwithout (?:any )?(?:errors?"
    r"|issues?)\b|\b(?:was|were|is|are|been|now) (?:fixed|solved|resolved)\b",
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
    r"\bbut (?:keep|leave) (?:it|the)\b|^leave it\b",
    r"\b(?:instead of|rather than|by default|defaults to)\b",
)


AGREES = _any(
    r"^\W*(?:you're|you are) (?:absolutely |totally )?(?:right|correct)\b|^good (?:point|catch"
    r"|idea)\b"
)
POINTS = _any(
    r"\b(?:it|they|them|these|those|their)\b(?!'s (?:simple|easy|fine|better|hard))",
    r"\b(?:this|that)(?:'s|'ll)?(?: (?:would|will|is|was|should|does|do|just|still|now|way|as|in"
    r"|for|to|and|or|instead|too|one)\b|[ ]?$|[.,?!;:)])",
    r"\b(?:this|that) (?:fix|change|approach|issue|problem|scenario|case|error|solution|function"
    r"|file|test|line|part|step|method|code|class|command|message|behaviou?r|thing|feature"
    r"|plan|idea)\b",
    r"\bthe (?:first|second|third|other|latter|former|above|same) (?:one|approach|option|way|thing"
    r"|idea|version)\b|\b(?:option|approach) (?:[a-d]|\d)\b|#\d\b|\babove\b",
)
"""Pronouns that may refer to another sentence."""
POINTS_AT_MANY = _any(
    r"\b(?:these|those|them|they|above|below|here|there|the same|the (?:first|second|third|other"
    r"|latter|former))\b|#\d\b"
)
"""Several things, or a place of a text: one sentence is not what they mean."""
WAVERS = _any(r"\b(?:actually|hmm|wait|scratch that|on second thought)\b|\?")
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
CONTRAST_START = re.compile(
    r",? but (?:instead |rather )?(?:we |I )?|[,;] (?:instead|rather),? ", re.IGNORECASE
)
"""Between what is rejected and what is chosen for it."""
CORRECTS = _any(
    r"^\W*(?:(?:oh|ok(?:ay)?|hmm+|sorry|wait)[,.!: ]+)*(?:no|nope|nein|actually|rather|wait"
    r"|scratch that|on second thought|(?:I(?:'ve)? )?changed my mind|instead|doch lieber|mejor)"
    r"(?:[,.!:;\u2013\u2014-]|\b(?= (?:rather|use|make|keep|let's|go with|put|call)\b)"
    r"|(?<=ly)\b|(?<=her)\b)|\bI changed my mind\b|^不是?[,\uff0c]|^やっぱり",
)
"""Begins a clause that takes back what was decided before."""
TAKES_BACK = re.compile(
    r"^\W*(?:(?:no|ok(?:ay)?|actually|please|hmm+|sorry|let's|can you|could you)\b[\s,.:!]*)*"
    r"(?:revert|undo|roll back|back out|take back|scrap|get rid of) "
    r"(?:(?:all )?(?:that|this|it|those|these)|(?:the|that|this|your|my) "
    r"(?:last |latest |previous )?"
    r"(?:changes?|edits?|idea|decision|one))(?: (?:change|edit|one)s?)?\b(?!'s)",
    re.IGNORECASE,
)
AGENT_REJECTED = _any(
    r"\b(?:I|we)(?:'ve| have)? (?:decided against|ruled out|rejected|discarded|decided not to)\b"
)
QUESTION_TAIL = re.compile(
    r", (?:is|are|can|could|do|does|what|how|why|should|would|any) "
    r"(?:(?:there|you|we|it|that|this|the|I)\b|idea)[^.!\n]*\??$",
    re.IGNORECASE,
)
"""A question after a statement."""
NEGATES = _any(
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
    r"^[^\w`\"'(\[#]*(?:(?:(?:yes|yeah|ok|okay|and|but|also|oh|hmm|ah|please|pls|hey|then"
    r"|so)\b(?!-)"
    r"|(?:no|nope|stop|actually|right|great|perfect|cool|nice|thanks|thank you|sure|wait|sorry"
    r"|well|now|good"
    r"|q|got it|understood|exactly|agreed|decision|(?:that )?makes sense|looks good|my bad"
    r"|one more thing"
    r"|on second thought|true|yep|correct|bitte|nein|ja|no entiendo|por favor|perfecto)"
    r"(?:[,.!:;]|(?= [\u2013\u2014-] )))[\s,.:!;\u2013\u2014]*){0,5}"
    r"(?:I (?:think|guess|believe) (?:that )?"
    r"(?=\S+ \S+ )|can we (?:(?:also|just|please|maybe) )*)?",
    re.IGNORECASE,
)
ASKED_FOR = _any(r"^\W*(?:\w+,? ){0,2}(?:can|could) (?:we|you)\b")
USER_REQUESTED = re.compile(
    r"^(?:(?:can|could) (?:we|you) (?:(?:please|also|just|maybe) )*)?(.{8,}?)"
    r"(?:,? ?\b(?:or|right|okay|ok|please|thanks))?[ ?]*\?+$",
    re.IGNORECASE | re.DOTALL,
)
"""A request in the form of a question."""
REPORT_TAIL = re.compile(
    r"(?: -|,? (?:and|so|but))?[,;.]? (?:(?:can|could|would) (?:you|we)|let's|please"
    r"|(?:have|take) a look)\b[^:\n]*$"
    r"|, (?:did|do|does|is|are|was|any|should|what|how|where|shall) [^:,\n]*\?$",
    re.IGNORECASE,
)
"""What a report asks for; no part of the problem."""
CODE_NAME = re.compile(
    r"`[^`\s]{2,80}`|(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.[a-z]\w{0,4}(?![\w/.-])|(?<!\w)--[a-z][\w-]+"
    r"|(?<=\w )[A-Z]\w+|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\b[a-zA-Z]+_\w+\b"
    r"|\b[A-Z]{2,}[\w-]*\b"
)
"""What looks like a name: in backticks, a path, an option, with capitals."""
HEADING = re.compile(r"\s*(?:#{1,6} |\*\*[^*]{2,120}\*\*:?\s*$)")
AGENT_LEAD = re.compile(
    r"^[^\w`\"'(]*(?:(?:perfect|great|good|done|excellent|now|ok(?:ay)?|yes|right|so|also|and"
    r"|all set|you're (?:absolutely )?right)[,.!:]* [\s\u2013\u2014-]*)+",
    re.IGNORECASE,
)
CODE = re.compile(r"`[^`]*`")
ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s|er|ly)$")
CONTENT_WORD = re.compile(r"[^\W_]{3,}")
SLASH_COMMAND = re.compile(r"^\s*/[a-z][\w:-]{1,60}\s+")
INSTRUCTIONS = re.compile(r"^\s*(?:<|You are (?:an?|the)\b|# |---\n|\[\{)")
"""How texts begin that a program or a file gives as a prompt."""
PASTED = re.compile(
    r"^(?: {2,}|\t|>)|^\s*at \S+ ?\(|^\d{4}-\d\d-\d\d[T ]\d|^\[?\d\d:\d\d|^(?:INFO|DEBUG|WARN"
    r"|ERROR)\b|^[$\u276f➜] |^[+-]{1,3} ?\S+.*[;{}]$|^\S+\.\w{1,5}:\d+"
)


def wordings() -> dict[str, frozenset[str]]:
    return {
        name: frozenset({pattern.pattern})
        for name, pattern in globals().items()
        if isinstance(pattern, Cue | re.Pattern)
    }
