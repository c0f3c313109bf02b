"""The intent of a turn: what its user wanted, in a line.

It follows from the episode texts of the turn and of the turn before it in its session, and from
nothing else: turns of every extractor have one, and the same texts give the same line. Only the
ends of long texts are read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from turnetl.episode_text import options
from turnetl.episode_text.conversation import (
    SENTENCE_END,
    Closing,
    Conversation,
    closing,
    sentences,
)
from turnetl.episode_text.options import Reply
from turnetl.episode_text.prose import shorten

MAX_CHARS = 140
"""Characters of an intent or an outcome."""
_READ = 4_000
"""Characters of each end of a text that are read."""
_CONTEXT_CHARS = 70
"""Characters of the context that is added to a prompt that refers to it."""
_LEAST_CONTEXT = 40
"""Characters of a first sentence that is added to the request that follows it."""

_BLOCK = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|local-command-stdout|task-notification)>"
    r"[^<]{0,4000}</\1>|(?:```|~~~)[\s\S]{0,4000}?(?:```|~~~|\Z)"
)
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,30}(?: [^<>\n]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)|@\[([^\[\]\n]{1,200})\]")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_REDACTED = re.compile(r"\[REDACTED[^\[\]\n]{0,80}(?:\]|$)", re.MULTILINE)
_ITEM_MARK = re.compile(r"^(?:[-*+•#]{1,6}|\d{1,3}[.)])\s+")
_PASTED_LINE = re.compile(
    r"(?:[>$»│|]\s|at \S+ ?\(|File \"|Traceback \(|\d{4}-\d\d-\d\dT?\s?|\[?\d\d:\d\d:\d\d"
    r"|(?:\w{0,40}(?:Error|Exception)|error|warning|fatal|panic|FAIL|npm ERR!)\b ?[:\[(]"
    r"|[-+]{3} \S|@@ |diff --git|\w{1,30}@[\w.-]{1,40}[:~ ]\S* ?[$#%])",
)
_SHELL_MARK = re.compile(r"^[>$»│|%#\s]+")
_FAILURE_LINE = re.compile(
    r"error|fail|fatal|panic|exception|denied|cannot|not found", re.IGNORECASE
)


def intent(turn: Conversation, previous: Conversation | None = None) -> str:
    """Return what the user wanted, with what a short prompt refers to; empty without a prompt.

    Args:
        previous: the turn before it in its session; a "yes" is an answer to it.
    """
    prompt = ends(turn.prompt)
    said = _own_lines(prompt)
    if not said:
        pasted = _pasted(prompt)
        return fit(_after(pasted, previous) if pasted and len(pasted) < _SHORT else pasted)
    if command := re.match(r"/([\w:.-]{1,60})(?:\s+|$)", said[0]):
        return fit(_slash_command(command[1], said, command.end(), previous))
    answered = _answered(said, previous) if previous is not None else ""
    return fit(answered or _with_context(said, _pasted_failure(prompt), previous))


def ends(text: str) -> str:
    return text if len(text) <= 2 * _READ else f"{text[:_READ]}\n\n{text[-_READ:]}"


def fit(text: str, limit: int = MAX_CHARS) -> str:
    """Return the text on one line, truncated at a word boundary to `limit` characters."""
    line = _REDACTED.sub("[redacted]", text)
    if not any(map(str.isalnum, line.replace("[redacted]", ""))):
        return ""
    return shorten(line, limit)


def capital(text: str) -> str:
    """Return a text that starts with a capital, unless its first word is a name."""
    first = text.partition(" ")[0].rstrip(",.:;!?").replace("'", "")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _own_lines(prompt: str) -> list[str]:
    """Return the lines that the user wrote, without markup and without what was pasted."""
    text = _LINK.sub(r"\1\2", _TAG.sub(" ", _BLOCK.sub("\n", prompt)))
    lines = (_EMPHASIS.sub("", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not _is_pasted(line)]


def _is_pasted(line: str) -> bool:
    if _PASTED_LINE.match(line) or line.endswith(("{", "}", ");")):
        return True
    letters = sum(character.isalnum() or character == " " for character in line)
    is_one_word = " " not in line and len(line) > _SHORT
    return is_one_word or (len(line) > 20 and letters < 0.6 * len(line))  # noqa: PLR2004


def _pasted(prompt: str) -> str:
    """Return the line of a pasted output that says most."""
    lines = [_SHELL_MARK.sub("", line).strip() for line in prompt.splitlines()]
    lines = [line for line in lines if any(map(str.isalnum, _TAG.sub("", line)))]
    if not lines:
        return ""
    failed = next((line for line in lines if _FAILURE_LINE.search(line)), "")
    first = fit(_TAG.sub("", lines[0]), 60)
    return f"Pasted: {first}{f': {failed}' if failed and failed != lines[0] else ''}"


def _pasted_failure(prompt: str) -> str:
    lines = (line.strip() for line in prompt.splitlines())
    return next((line for line in lines if _FAILURE_LINE.search(line) and _is_pasted(line)), "")


_COMMANDS = {
    "init": "Analyse the repository and write a file of instructions for agents",
    "review": "Review the changes",
    "security-review": "Review the security of the changes",
    "pr-comments": "Show the comments of the pull request",
    "compact": "Summarise the conversation",
}


def _slash_command(name: str, said: Sequence[str], end: int, previous: Conversation | None) -> str:
    rest = [line for line in (said[0][end:].strip(), *said[1:]) if line]
    if not rest:
        return _COMMANDS.get(name) or _after(f"Run /{name}", previous)
    return f"{_request(rest)} (/{name})"


_LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|hey|hmm+|hm|ah+|oh|so|yes|yeah|yep|yup|please|pls|and|also|but|sure)\b"
    r"(?!-)[\s,.:;!…\u2013\u2014-]*|(?:hi|hello|well|great|good|nice|perfect|cool|thanks?"
    r"|thank you|right|alright|now|then|q|actually|wait|one follow up|clarification"
    r"|(?:one more|different|quick) question(?: first)?)\s{0,2}[,.:;!…\u2013\u2014-]+\s*)+",
    re.IGNORECASE,
)
_TRAIL = re.compile(r",? (?:please|pls|thanks|thank you|thx)[.! ]*$", re.IGNORECASE)
_ASK = re.compile(
    r"(?:(?:can|could|would|will) (?:you|u|yu|we)(?: (?:please|also|just|maybe|quickly))* "
    r"|let'?s (?:also |just |now )?|i(?: would|'d) like (?:you )?to |i (?:want|need) you to "
    r"|please |pls |help me (?:to )?)+(?=\S)",
    re.IGNORECASE,
)
_MID_ASK = re.compile(
    r"\bplease\b|\blet'?s\b|\bwe should\b|\bshould we\b"
    r"|\bi(?: would|'d) like to\b|\bi (?:want|need) to\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?<!\bhow)(?<!\bwhat)(?<!\bwhy)(?<!\bwhere)(?<!\bwhen)(?<!\bwhich)(?<!\bwho)(?<!\bthat)"
    r"[,.;]?(?: and| but| so)? (?=(?:can|could) (?:you|we) \S)",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"(?:add|address|apply|build|change|check|clean|commit|convert|create|debug|delete|deploy|do"
    r"|document|don'?t|drop|explain|extract|find|fix|generate|give|go|implement|improve|install"
    r"|investigate|keep|list|look|make|merge|move|open|optimi[sz]e|plan|push|put|read|rebase"
    r"|refactor|remove|rename|replace|review|revert|rewrite|run|say|set|show|start|stop|summari[sz]e"
    r"|switch|test|try|update|upgrade|use|verify|write)\b",
    re.IGNORECASE,
)
_TAG_QUESTION = re.compile(r"(?:^|,? )(?:right|or|ok(?:ay)?|no|correct|yes)\s?\?+$", re.IGNORECASE)


class _Sentence(NamedTuple):
    text: str
    strength: int
    """0: it states, 1: it asks whether something is right, 2: it asks for something."""


def _request(lines: Sequence[str]) -> str:
    """Return the requests of a prompt in their order, and what else fits."""
    first, rest = lines[0], lines[1:]
    if first.endswith((":", "\uff1a")) and rest:
        # A log may begin anywhere; what failed says most of it.
        failed = (
            line for line in rest if _FAILURE_LINE.search(first) and _FAILURE_LINE.search(line)
        )
        shown = next(failed, rest[0])
        first = f"{first} {_ITEM_MARK.sub('', shown)}"
        if shown is not rest[0] or shown.startswith("#"):
            return capital(first)
        rest = rest[1:]
    found = [
        _sentence(clause)
        for line in (first, *rest)
        for one in whole_sentences(_ITEM_MARK.sub("", line))
        for clause in _CLAUSE.split(one)
    ]
    said = [one for one in found if one.text and not _is_courtesy(one.text)] or found
    return capital(_joined(said) or first)


def _joined(said: Sequence[_Sentence]) -> str:
    """Return the strongest sentences that fit, in their order."""
    chosen: list[int] = []
    length = 0
    for place in sorted(range(len(said)), key=lambda place: -said[place].strength):
        if not chosen or length + len(said[place].text) < MAX_CHARS:
            chosen.append(place)
            length += len(said[place].text) + 2
    title = ""
    for place in sorted(chosen):
        is_next = title.endswith((*".?!", "\uff1f", "\u3002"))
        text = capital(said[place].text) if is_next else said[place].text
        mark = ";" if title[-1:].isalnum() or title[-1:] in tuple(")\"'`") else ""
        title = f"{title}{mark} {text}"
    room = MAX_CHARS - len(title) - 3
    is_led = not said or 0 in chosen or room < _LEAST_CONTEXT
    return title.strip() if is_led else f"{title.strip()} ({fit(said[0].text, room)})"


def whole_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph; none ends within quotation marks or brackets."""
    found: list[str] = []
    start = 0
    for mark in SENTENCE_END.finditer(paragraph):
        one, end = paragraph[start : mark.end()].strip(), mark.end()
        goes_on = one.endswith('"') and paragraph[end : end + 1].islower()
        if not goes_on and one.count('"') % 2 == 0 and one.count("(") <= one.count(")"):
            found.append(one)
            start = end
    rest = paragraph[start:].strip()
    return [one for one in (*found, rest) if any(map(str.isalnum, one))]


def _sentence(text: str) -> _Sentence:
    """Return a sentence without its polite beginning, and whether it asks for something."""
    lead = _LEAD.match(text)
    bare = _TRAIL.sub("", text[lead.end() :] if lead else text)
    if ask := _ASK.match(bare):
        asked = _TAG_QUESTION.sub("", bare[ask.end() :]).rstrip(" ?.")
        is_vague = len(asked.split()) <= 2 and _REFERS.search(asked)  # noqa: PLR2004
        return _Sentence(bare, 1) if is_vague else _Sentence(asked, 2)
    if _TAG_QUESTION.search(bare):
        return _Sentence(bare if _TAG_QUESTION.sub("", bare) else "", 1)
    asks = bare.endswith(("?", "\uff1f")) or _IMPERATIVE.match(bare) or _MID_ASK.search(bare)
    return _Sentence(bare, 2 if asks else 0)


ASKS_FOR = re.compile(
    r"(?:please|could you) (?:provide|tell|share|specify|give|confirm|choose|clarify)\b",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:it|this|these|those|they|them|again|same|both|instead|what about|how about|that's"
    r"|(?:the|that|which|first|second|last|other) ones?|there(?=[.?!]*$)|that(?=\W*$|[.,;?!]"
    r"| (?:is|was|way|thing|too|again|instead|then|now|for|in|to|and)\b))\b|^(?:and|or|but|so)\b",
    re.IGNORECASE,
)
_SHORT = 60
_FEW_WORDS = 2
_REFERRING = 75
"""Characters of a request that says too little without what it refers to."""


def _with_context(said: Sequence[str], pasted: str, previous: Conversation | None) -> str:
    """Return a request; a short one that refers to something with what that is."""
    request, written = _request(said), " ".join(said)
    refers = len(request.split()) <= _FEW_WORDS or _REFERS.search(written)
    is_reply = not _sentence(said[0]).strength and _was_asked(previous)
    if len(request) > _REFERRING or not (refers or is_reply):
        return request
    return f"{request} (pasted: {pasted})" if pasted else _after(request, previous)


def _was_asked(previous: Conversation | None) -> bool:
    end = closing(ends(previous.answer)) if previous is not None else Closing()
    return bool(end.question or any(map(ASKS_FOR.match, sentences(end.outcome)[-1:])))


def _after(request: str, previous: Conversation | None) -> str:
    context = _context(previous)
    return f"{request} (after: {fit(context, _CONTEXT_CHARS)})" if context else request


def _context(previous: Conversation | None) -> str:
    """Return what the turn before was about: its request, or its outcome if that says nothing."""
    if previous is None:
        return ""
    said = _own_lines(ends(previous.prompt))
    if said and not _is_assent(" ".join(said)) and not options.names_option(" ".join(said)):
        return _request(said)
    return closing(ends(previous.answer)).outcome


_AGREES = """
    yes yep yeah yup ya y ok okay k sure fine good great perfect lgtm agreed approved correct
    exactly absolutely definitely proceed continue go resume start do fix implement next
    ja jo klar weiter mach oui vas-y sí si vale sim da да давай tak
    好 好的 继续 是 是的 可以 行 はい 続けて お願いします 네 예 계속
"""
_BESIDE = """
    hi hello hey nice cool right ahead on it that that's it's this so please thanks thank you now
    thx ty then and with keep going sounds looks let's lets make happen all of the to me gut
    bitte
"""
_AGREEING = frozenset(_AGREES.split())
_NODS = frozenset("👍👌✅💯🙌🆗")
_ASSENTING = _AGREEING.union(_BESIDE.split())
_ACTS = frozenset(("fix", "do", "implement", "make", "start", "continue", "go", "proceed", "keep"))
_CONTINUES = frozenset(("continue", "resume", "weiter", "继续", "続けて", "계속"))
_CONTINUED = re.compile(
    r"(?:please )?(?:continue|resume|go on|proceed|retry|try again)\b[\s,.;:!-]*(.*)", re.IGNORECASE
)
_THANKS = frozenset(("thank", "thanks", "thx", "merci", "danke", "gracias", "correct"))
_REFUSES = frozenset(("no", "nope", "nah", "nein", "non", "нет", "不", "いいえ"))
_WORD = re.compile(r"[^\W_][\w'\u2019-]{0,30}")


def _words(text: str) -> list[str]:
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text[:200])]


def _is_assent(text: str) -> bool:
    words = _words(text) if len(text) < _SHORT else []
    if not words:
        return not _NODS.isdisjoint(text[:_SHORT])
    return _ASSENTING.issuperset(words) and not _AGREEING.isdisjoint(words)


def _is_courtesy(text: str) -> bool:
    words = _words(text)
    return len(text) < _SHORT and _ASSENTING.issuperset(words) and _ACTS.isdisjoint(words)


_OFFER = re.compile(
    r"(?:so |then |but |and |now )?(?:would you (?:like|prefer)(?: me| that i| i)?(?: to)?"
    r"|(?:do you )?want(?: me)?(?: to)?|(?:should|shall) (?:i|we)(?: now)?(?: go ahead and)?"
    r"(?: proceed (?:to|with))?|(?:may|can|could) i|is it ok(?:ay)? (?:if i|to)"
    r"|let me know if (?:you(?:'d| would) like me to|i should)|ready to)\s+(?=\S)",
    re.IGNORECASE,
)
_POLITE = re.compile(r"^[\s,.;:]*(?:(?:it is|please)\b[\s,.!]*)*", re.IGNORECASE)


def _answered(said: Sequence[str], previous: Conversation) -> str:
    """Return what a prompt answers of the agent's last proposal, options or questions, else ''."""
    answer = ends(previous.answer)
    text, end, offered = " ".join(said), closing(answer), options.offer(answer)
    if replies := options.item_replies(said, offered):
        return "; ".join(f"{fit(option, 45)}: {reply}" for option, reply in replies)
    picked = options.picked(text, offered) if offered.options else None
    if picked is not None and picked.chosen:
        return _chosen(picked, offered.options)
    if _is_assent(text):
        return _assented(text, end, previous)
    if len(text) < _SHORT and (continued := _CONTINUED.fullmatch(text)):
        reason = f" ({continued[1]})" if continued[1] else ""
        return f"Continue: {fit(_context(previous), 90)}{reason}"
    words = _words(text)
    if words and words[0] in _REFUSES and len(words) <= 2 and end.question:  # noqa: PLR2004
        no = _offered(end)
        return no.replace("Yes, ", "No, ", 1) if no[:3] == "Yes" else f"No: {no}"
    return ""


def _chosen(picked: Reply, listed: Mapping[str, str]) -> str:
    if len(picked.chosen) > 1:
        each = "; ".join(fit(text, 50) for text in picked.chosen)
        return f"Choose {'all of' if len(picked.chosen) == len(listed) else 'these'}: {each}"
    rest = _POLITE.sub("", picked.rest)
    chosen = fit(picked.chosen[0], 80 if rest else MAX_CHARS)
    return f"Choose “{chosen}” {rest}"


def _assented(text: str, end: Closing, previous: Conversation) -> str:
    if end.question:
        return _offered(end)
    if not _THANKS.isdisjoint(_words(text)):
        return ""
    context = _context(previous)
    if _CONTINUES.intersection(_words(text)) or not end.outcome:
        return f"Continue: {context}" if context else ""
    last = [*sentences(end.outcome)][-1:]
    offered = next((one for one in last if _OFFER.match(one)), "")
    return _offered(Closing("", offered)) if offered else f"Go on after: {end.outcome}"


def _offered(end: Closing) -> str:
    """Return an offer of the agent as what is to be done, with what that refers to."""
    first, *more = [*sentences(end.question)] or [""]
    found = _OFFER.match(first)
    done = capital((first[found.end() :] if found else first).rstrip(" ?"))
    if not found:
        done = f"Yes, to: {first}"
    about = " ".join(more) or (end.outcome if _REFERS.search(done) else "")
    return f"{fit(done, 90)} ({about})" if about else done
