"""What speaks against a turn. Each rule is a polars expression over `schema.TURNS` of one group.

The frame holds each turn id once, in the order of the episodes table: `first` means the earliest.
The order of `RULES` counts: the first rule that matches names the turn. A prompt that got work done
(a call of a tool, a word of steering, a real answer) is never noise, whatever its words are.
"""

import polars as pl

from turnetl.noise.rule import Rule

_user = pl.col("user_text").str.strip_chars()
_said = pl.col("assistant_text").str.strip_chars()
_LONG = 300
"""Characters of a prompt that says something by itself, also without an answer."""
_SHORT_ANSWER = 240
_SHORT_ERROR = 600


def _none(column: str) -> pl.Expr:
    return pl.col(column).list.len() == 0


_no_tools = _none("tools") & _none("subagents")
_idle = _no_tools & _none("steering") & _none("answers")
_silent = _idle & (_said == "")

# Letters and digits only, in lower case: "OK, go on!" and "ok go on" are the same.
_words = _user.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}\p{M}]+", " ").str.strip_chars()
_YES = (
    "ok okay k kk okey yes y yep yeah yup sure fine good great perfect nice cool thanks thx ty done"
    " right correct agreed approved lgtm continue proceed go resume next please no nope"
    " ja jo jep klar gut passt danke weiter genau mach bitte gerne super nein"
    " oui si sí vale claro bueno gracias sigue continua continúa continuar adelante vamos merci"
    " d accord daccord"
    " bien parfait continuez sim certo obrigado obrigada continue beleza"
    " va bene grazie avanti continua perfetto tak goed dank verder doorgaan graag"
    " да ок хорошо спасибо продолжай продолжи дальше так добре"
    " 好 好的 继续 是 是的 可以 谢谢 行 嗯 同意 はい 続けて お願いします ありがとう 了解"
    " 네 예 계속 좋아 감사합니다 tamam evet devam"
)
_FILL = (
    "it that this the on ahead with to you all and do then now very much so a lot we can i think"
)
_ACKNOWLEDGED = rf"^(?:(?:{'|'.join(sorted({*_YES.split(), *_FILL.split()}))})(?: |$)){{1,6}}$"
_SAYS_YES = rf"(?:^| )(?:{'|'.join(sorted(set(_YES.split())))})(?: |$)"

_SUGGESTION = r"^\[SUGGESTION MODE:"
_TITLE = (
    r"(?i)^(?:please )?(?:write|generate|create|give|provide|summari[sz]e)[^\n]{0,60}"
    r"\b(?:title|topic|branch name)\b[^\n]{0,60}\b(?:conversation|session|chat|coding task|message)"
    r"|^Analyze if this message indicates a new conversation topic"
)
_WARM_UP = r"(?i)^(?:warm[ -]?up|ping|quota)[.!]?$"
_HARNESS = (
    r"^Summarize this part of a conversation"
    r"|^Context: This summary will be shown in a list"
    r"|^Your task is to create a detailed summary of the conversation so far"
    r"|^Please continue the conversation from where we left it off"
    r"|^System: Please continue\."
)
_PROVIDER = (
    r"(?i)^(?:API Error\b|(?:Claude (?:AI )?)?usage limit reached|You've hit your (?:usage )?limit"
    r"|You've reached your [^\n]{0,40}limit|Credit balance is too low|Invalid API key"
    r"|Prompt is too long|OAuth token (?:revoked|has expired)|Please run /login"
    r"|Request timed out|Connection error|No response requested\.?$"
    r"|(?:Error: )?(?:429|500|502|503|529)\b)"
)

COPY = Rule(
    "copy",
    1,
    "The same turn at the same moment under another id: a resumed or forked session carries it.",
    pl.col("started_at").is_not_null()
    & (pl.col("turn_id") != pl.col("turn_id").first().over("content_hash", "started_at")),
)
REPEAT = Rule(
    "repeat",
    1,
    "The same words and the same answer as before in the session, and nothing done: a retry.",
    _idle
    & (_user != "")
    & ~pl.struct("session_id", _user, _said.alias("said")).is_first_distinct(),
)
SUGGESTION = Rule(
    "suggestion",
    1,
    "The harness asks the model what the person may type next.",
    _no_tools & _user.str.contains(_SUGGESTION),
)
TITLE = Rule(
    "title",
    1,
    "The harness asks for a title, a topic or a branch name of a conversation.",
    _idle & _user.str.contains(_TITLE) & (_said.str.len_chars() <= _SHORT_ANSWER),
)
WARM_UP = Rule(
    "warm_up",
    1,
    "The harness opens the connection before the person has said anything.",
    _idle & _user.str.contains(_WARM_UP),
)
HARNESS = Rule(
    "harness",
    1,
    "A program wrote the prompt: a summary for a list, a compaction, a nudge to go on.",
    _idle & _user.str.contains(_HARNESS),
)
PROVIDER_ERROR = Rule(
    "provider_error",
    1,
    "The only answer is an error of the provider: overloaded, out of credit, logged out.",
    _idle & _said.str.contains(_PROVIDER) & (_said.str.len_chars() <= _SHORT_ERROR),
)
INTERRUPTED = Rule(
    "interrupted",
    1,
    "Taken back before anything happened. A long prompt says something by itself and is kept.",
    _silent
    & (pl.col("closed_by") == "interrupted").fill_null(value=False)
    & (_user.str.len_chars() < _LONG),
)
NO_ANSWER = Rule(
    "no_answer",
    1,
    "Nobody answered. A long prompt says something by itself and is kept.",
    _silent & (_user.str.len_chars() < _LONG),
)
ACKNOWLEDGEMENT = Rule(
    "acknowledgement",
    1,
    "A yes, a thank you, a go on that got no work done.",
    _idle
    & (_said.str.len_chars() <= _SHORT_ANSWER)
    & _words.str.contains(_ACKNOWLEDGED)
    & _words.str.contains(_SAYS_YES),
)

RULES: tuple[Rule, ...] = (
    COPY,
    REPEAT,
    SUGGESTION,
    TITLE,
    WARM_UP,
    HARNESS,
    PROVIDER_ERROR,
    INTERRUPTED,
    NO_ANSWER,
    ACKNOWLEDGEMENT,
)
"""In the order in which they name a turn."""

ON_DEMAND: tuple[Rule, ...] = ()
"""These mark only if a person asks for them."""
