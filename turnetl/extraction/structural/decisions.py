"""Finds sentences that state a decision. Prefers to miss one over a false one."""

import re
from collections.abc import Iterable

from turnetl.extraction.structural.prose import RESPONSE_LIMITS, clip, plain, sentences, shorten

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
_USER = re.compile(
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
_UNDECIDED = re.compile(
    r"\?\s*$|\b(?:if you|would you|could|might|maybe|perhaps|alternatively|option [a-d1-9]\b"
    r"|should (?:I|we)"
    r"|do you|can you|whether|let me know|not sure|wonder|either)\b",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(
    r"\b(?:the|a|an) \w{0,20} ?(?:tool|agent|subagent|command)\b|\bto (?:find|search|explore|look"
    r"|check|see"
    r"|verify|understand|read|get|fetch|investigate|track)\b|\b(?:let'?s|we'll) (?:have a look"
    r"|make sure|not)\b|\b(?:switch|move) to \S{1,60} branch|^\S{1,80}:\d"
    r"|\bkeep (?:going|working|reading|looking|an eye)|\bmake sure\b|\bhave been\b",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|so that|as it|simpler|safer|avoids?)\b", re.IGNORECASE)
_QUESTION_AND_ANSWER = re.compile(r"\"([^\"]{3,600})\"=\"([^\"]{1,1000})\"")
_NO_COMMENT = re.compile(
    r"^\s*(?:\(no (?:response|comment)\)|ok|yes|no|continue|stop|wait)?\s*\.?\s*$", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]")
_ASKS_BACK = re.compile(
    r"(?:^|[,:;] ?)(?:does|is|are|why|what|how|should|can|could|would)"
    r" (?:this|that|it|we|the|you|i)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\s*Implement the following plan:\s*(?:#{1,3} )?(?:Plan: )?([^\n]{3,200})", re.IGNORECASE
)
_MIN_LENGTH, _MAX_LENGTH = 25, 320
_MAX_NAME_LENGTH = 90
_MAX_TYPED_LENGTH = 1200
"""Characters that a user types. A longer text was pasted, at least from its middle on."""
_MAX_OF_AGENT, _MAX_OF_USER = 4, 4


def of_agent(response: str) -> list[str]:
    """Return the sentences in which the agent states a decision, those with a reason first."""
    candidates = sentences(plain(clip(response, *RESPONSE_LIMITS)))
    stated = [
        s for s in candidates if _is_candidate(s) and _AGENT.search(s) and not _NEXT_STEP.search(s)
    ]
    return sorted(dict.fromkeys(stated), key=lambda s: not _REASON.search(s))[:_MAX_OF_AGENT]


def of_user(texts: Iterable[str]) -> list[str]:
    """Return the sentences in which the user states a decision, in prompts and steering."""
    stated = [
        sentence
        for text in texts
        for sentence in sentences(
            plain(text if len(text) < _MAX_TYPED_LENGTH else text[: _MAX_TYPED_LENGTH // 3])
        )
        if _is_candidate(sentence) and _USER.search(sentence) and not _NEXT_STEP.search(sentence)
    ]
    return list(dict.fromkeys(stated))[:_MAX_OF_USER]


def answers(answer: str) -> list[tuple[str, str]]:
    """Return (question, answer) pairs; a comment on a rejected call has an empty question.

    An answer without a word decides nothing and is omitted.
    """
    pairs = _QUESTION_AND_ANSWER.findall(answer[:8000])
    if pairs:
        with_words = [(question, reply) for question, reply in pairs[:4] if _WORD.search(reply)]
        return [(shorten(question, 160), shorten(reply, 200)) for question, reply in with_words]
    comment = shorten(plain(answer[:4000]), 300)
    is_empty = not _WORD.search(comment) or _NO_COMMENT.match(comment)
    return [] if is_empty or is_question(comment) else [("", comment)]


def is_question(answer: str) -> bool:
    """Whether a comment on a rejected call asks a question: then nothing is decided yet."""
    asks = "?" in answer[:4000] or _ASKS_BACK.search(answer[:200])
    return bool(asks) and not _QUESTION_AND_ANSWER.search(answer[:8000])


def plan(prompt: str) -> str:
    """Return the title of the plan that the user accepted, or an empty string."""
    match = _PLAN.match(prompt[:600])
    return shorten(match.group(1).strip("#* "), 120) if match else ""


def name(sentence: str) -> str:
    """Return the name of a decision: its sentence, shortened."""
    return shorten(sentence.replace("`", "").rstrip("."), _MAX_NAME_LENGTH)


def _is_candidate(sentence: str) -> bool:
    return _MIN_LENGTH <= len(sentence) <= _MAX_LENGTH and not _UNDECIDED.search(sentence)
