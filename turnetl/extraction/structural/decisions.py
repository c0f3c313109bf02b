"""Sentences that state a choice. Better none than one that is none."""

import re
from collections.abc import Iterable

from turnetl.extraction.structural.prose import TOLD, clip, plain, sentences, shorten

_VERBS = (
    r"(?:use|keep|go with|stick (?:with|to)|switch(?:ed)? to|move to|adopt|drop|avoid|replace|skip"
    r"|remove|support|store|treat|default to|leave|make|rely on|have|only|always|never|not)"
)
_AGENT = re.compile(
    rf"\b(?:(?:I|we)(?:'ve| have)? (?:decided|chose|opted)\b|decid(?:ed|ing) (?:to|on|against)\b"
    rf"|opting for\b|decision(?: is| was)?: |(?:let's|we(?:'ll| will| should)) {_VERBS}\b"
    rf"|I(?:'ll| will|'d) (?:go with|stick (?:with|to)|keep|switch to|default to|avoid|drop)\b"
    rf"|(?:use[sd]?|using|chose|prefer(?:red)?|switch(?:ed)? to|return[s]?|store[sd]?|call[s]?"
    rf"|changed?|moved?|"
    rf"replaced?)\b[^.?!]{{3,120}}\b(?:instead of|rather than)\b"
    rf"|(?:instead of|rather than)\b[^.?!]{{3,120}}, (?:we|I|it) )",
    re.IGNORECASE,
)
_PERSON = re.compile(
    rf"\b(?:let'?s {_VERBS}\b|(?:I|we) (?:want|prefer|decided|chose|need) to {_VERBS}\b"
    rf"|I(?:'d)? prefer\b"
    rf"|we should (?:not |always |never |only |rather )?{_VERBS}\b|go with\b|instead of\b"
    rf"|rather than\b"
    rf"|(?:please )?don'?t (?:use|add|keep|make|change|do|create|commit|remove)\b|(?:always"
    rf"|never) use\b"
    rf"|no need (?:to|for)\b|not as an? \b|should (?:be|stay|remain"
    rf"|default)\b[^.?!]{{2,80}}\bnot\b)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\?\s*$|\b(?:if you|would you|could|might|maybe|perhaps|alternatively|option [a-d1-9]\b"
    r"|should (?:I|we)"
    r"|do you|can you|whether|let me know|not sure|wonder|either)\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\b(?:the|a|an) \w{0,20} ?(?:tool|agent|subagent|command)\b|\bto (?:find|search|explore|look"
    r"|check|see"
    r"|verify|understand|read|get|fetch|investigate|track)\b|\b(?:let'?s|we'll) (?:have a look"
    r"|make sure|not)\b|\b(?:switch|move) to \S{1,60} branch|^\S{1,80}:\d"
    r"|\bkeep (?:going|working|reading|looking|an eye)|\bmake sure\b|\bhave been\b",
    re.IGNORECASE,
)
_MIND = re.compile(r"\b(?:because|since|so that|as it|simpler|safer|avoids?)\b", re.IGNORECASE)
_ASKED = re.compile(r"\"([^\"]{3,600})\"=\"([^\"]{1,1000})\"")
_FEEDBACK = re.compile(
    r"^\s*(?:\(no (?:response|comment)\)|ok|yes|no|continue|stop|wait)?\s*\.?\s*$", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]")
_ASKS = re.compile(
    r"(?:^|[,:;] ?)(?:does|is|are|why|what|how|should|can|could|would)"
    r" (?:this|that|it|we|the|you|i)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\s*Implement the following plan:\s*(?:#{1,3} )?(?:Plan: )?([^\n]{3,200})", re.IGNORECASE
)
_SHORTEST, _LONGEST = 25, 320
_NAME = 90
_TYPED = 1200
"""Characters that a person types; what is longer was pasted, at least from its middle on."""
_MOST_OF_AGENT, _MOST_OF_PERSON = 4, 4


def of_agent(answer: str) -> list[str]:
    """Return the choices that the agent states, those with a reason first, in its words."""
    words = sentences(plain(clip(answer, *TOLD)))
    stated = [s for s in words if _fits(s) and _AGENT.search(s) and not _STEP.search(s)]
    return sorted(dict.fromkeys(stated), key=lambda s: not _MIND.search(s))[:_MOST_OF_AGENT]


def of_person(words: Iterable[str]) -> list[str]:
    """Return the choices that a person states in prompts and in passing."""
    stated = [
        sentence
        for text in words
        for sentence in sentences(plain(text if len(text) < _TYPED else text[: _TYPED // 3]))
        if _fits(sentence) and _PERSON.search(sentence) and not _STEP.search(sentence)
    ]
    return list(dict.fromkeys(stated))[:_MOST_OF_PERSON]


def answered(answer: str) -> list[tuple[str, str]]:
    """Return (question, answer) for each answer; a comment on a rejection has no question.

    What has no word in it decides nothing.
    """
    pairs = _ASKED.findall(answer[:8000])
    if pairs:
        told = [(question, said) for question, said in pairs[:4] if _WORD.search(said)]
        return [(shorten(question, 160), shorten(said, 200)) for question, said in told]
    said = shorten(plain(answer[:4000]), 300)
    silent = not _WORD.search(said) or _FEEDBACK.match(said)
    return [] if silent or is_question(said) else [("", said)]


def is_question(answer: str) -> bool:
    """Whether a comment on a rejection asks back: nothing is decided yet."""
    asks = "?" in answer[:4000] or _ASKS.search(answer[:200])
    return bool(asks) and not _ASKED.search(answer[:8000])


def plan(prompt: str) -> str:
    """Return the title of the plan that a person accepted, or nothing."""
    found = _PLAN.match(prompt[:600])
    return shorten(found.group(1).strip("#* "), 120) if found else ""


def name(sentence: str) -> str:
    """Return what a decision is called: its sentence, cut."""
    return shorten(sentence.replace("`", "").rstrip("."), _NAME)


def _fits(sentence: str) -> bool:
    return _SHORTEST <= len(sentence) <= _LONGEST and not _OPEN.search(sentence)
