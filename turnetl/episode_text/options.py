"""What the agent offers at the end of a turn, and what a short reply of the user picks from it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from turnetl.episode_text.prose import clip, plain, sentences, shorten

_ASKS = ("?", "\uff1f")
_TAIL = 4000
"""Characters of a response that may end in an offer."""
_MAX_OPTION, _MAX_BASIS, _MIN_BASIS_LETTERS = 200, 220, 16
_ITEM = re.compile(
    r"^[ \t]{0,6}(?:[-*+>\u2022] {1,3}|#{1,5} {1,3})?(?:\*\*|__)?(?P<word>(?:Option|Choice"
    r"|Approach|Alternative|Variante?|Opci[oó]n|方案|选项|案) ?)?\(?(?P<label>\d{1,2}"
    r"|[A-Za-z])(?:\*\*|__)?(?:[.):\uff1a\u3001]|(?= [\u2013\u2014-] ))(?:\*\*"
    r"|__)?[ \t\u2013\u2014-]{0,4}(?P<text>\S[^\n]{1,600})$",
    re.MULTILINE,
)
_CHOOSES = re.compile(
    r"\b(?:which|prefer|choose|pick|option|approach|either|or)\b|哪|どちら|welche|cu[aá]l",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"^(?:\W*(?:so|ok|and|then|alternatively|if so|otherwise),? )?"
    r"(?:(?:do you )?want me to|would you like (?:me )?to|(?:should|shall|can|may) (?:I|we)"
    r"|do you want to|soll(?:en)? (?:ich|wir)|¿?quieres que|debería(?:mos)?"
    r"|(?:should|shall) (?=(?:the|an?|each|every|all)\b)) ?(?:also |now |then )?",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(?:just |go ahead and |start by |first )?(?:proceed|continue|commit|push|run|re-?run|test"
    r"|check|look|review|explain|show|read|try|investigate|explore|analy[sz]e|open|merge|rebase"
    r"|deploy|install|clean up|cleanup|summari[sz]e|list|draft|file|post|reply|create (?:a|the|an)"
    r" (?:\S+ ){0,3}(?:pr|pull request|branch|issue|commit)|start|begin|do (?:that|this|it|so)"
    r"|help|see|verify|debug|dig|find|search|mark|wait|stop|keep going|go ahead|take|walk|finish"
    r"|address|write|update|add (?:a |some |more |the )?(?:\S+ )?(?:tests?|comments?|docs?))\b",
    re.IGNORECASE,
)
"""Beginnings of proposals to do something once: their acceptance decides nothing that lasts."""
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|y|sure|ok(?:ay)?|sounds? good|do (?:it|that|so)|go ahead|go for it"
    r"|please do|perfect|great|lgtm|agreed?|exactly|correct|makes sense|absolutely|definitely|ja"
    r"|jo|genau|klar|s[ií]|claro|vale|dale|好的?|是的?|可以|对|行|はい|うん"
    r"|お願いします)(?![\w'])[\s,.!:;\u2013\u2014\uff0c。\uff01-]*(?:(?:please|do (?:it|that)"
    r"|go ahead|sounds good)(?!\w)[\s,.!]*)?",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^\W*(?:no|nope|nah|nein|don't|do not|please don't|not (?:now|needed|necessary)|不(?:要|用"
    r"|行)?|いいえ|いや)(?![\w'])[\s,.!:;\u2013\u2014\uff0c。\uff01-]*",
    re.IGNORECASE,
)
_LEAD = (
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|sure|let'?s|lets|i(?:'d|'ll| would| will)?|we|please|just|do|go"
    r"|with|for|take|pick|choose|prefer|like|use|want|think|the|number|no\.|nr\.?|nimm|wir|nehmen"
    r"|ich|vamos|con|la|elijo|选|我选|选择|用)[\s,:.]{0,3}){0,7}"
)
_WORD = r"(?P<word>(?:option|choice|approach|alternative|variante?|opci[oó]n|方案|选项|案)s? ?#?)"
_LABEL = r"(?P<label>\d{1,2}|[A-Za-z])"
_STOP = (
    r"(?=\s*$|\s*[.,;:!)\u2013\u2014\uff0c。、]|\s+(?:please|is|are|sounds?|looks?|seems?|it|with"
    r"|but|and|for"
    r"|because|since|as|first|then|doesn't|does|isn't|won't|fails?|-)\b|\s*(?:bitte|吧|で|が))"
)
_PICK = re.compile(rf"{_LEAD}(?:{_WORD}|#|\()?{_LABEL}{_STOP}", re.IGNORECASE)
_MORE = re.compile(
    r"^(?:\s*(?:,|and|&|\+|und|y|和|と))+\s*(?:option )?#?(\d{1,2}|[A-Za-z])(?![\w'])",
    re.IGNORECASE,
)
_ORDINALS = ["first", "second", "third", "fourth", "fifth"]
_ORDINAL = re.compile(
    rf"{_LEAD}(?P<ordinal>{'|'.join(_ORDINALS)}|last|latter|former)"
    r"(?: (?:one|option|approach|choice|alternative|way|idea))?" + _STOP,
    re.IGNORECASE,
)
_ALL = re.compile(
    rf"{_LEAD}(?:both(?: of them)?|all(?: (?:of (?:them|these|those)|three|four|five))?){_STOP}",
    re.IGNORECASE,
)
_INLINE = re.compile(r"(?<!\w)#(\d{1,2}) (\w(?:[^,;:#()\n?!.]|\.(?=\w)){2,60})")
_ITEM_REPLY = re.compile(r"\s*(#?)(\d{1,2}|[A-Za-z])[.):]?\s+(\S.*)")
_NEITHER = re.compile(r"^\W*(?:neither|none)(?: of (?:them|these|those))?\b", re.IGNORECASE)
_AGAINST = re.compile(
    r"\bnot\b|n't\b|\b(?:bad|wrong|overkill|fails?|worse|drop|against|rejected?)\b", re.IGNORECASE
)
_POINTS = re.compile(
    r"\b(?:it|this|that|these|those|them|they|its|there|one|both|either|so|such"
    r"|(?:the|an?) (?:approach|fix|change|option|solution|plan|issue|design|way|first|second))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Offer:
    """The last message of a response, as far as a short reply may refer to it."""

    options: Mapping[str, str] = field(default_factory=dict)
    """The text of each option by its label, in lower case; at least two, or none."""
    question: str = ""
    """The last question."""
    basis: str = ""
    """The last sentence before the question: what `this` in a reply means."""
    alternatives: bool = False
    """Whether the options exclude each other."""

    @property
    def proposal(self) -> str:
        """What the agent proposes that is to last, self-contained; empty if nothing."""
        asked = _PROPOSES.match(self.question)
        if asked is None:
            return ""
        content = self.question[asked.end() :].rstrip("? ")
        if _ONCE.match(content):
            return ""
        if not _POINTS.search(content):
            return content
        return f"{content} (“{self.basis}”)" if self.basis else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a prompt says about an offer."""

    chosen: Sequence[str] = ()
    """Texts of options; or what the agent proposed."""
    rejected: Sequence[str] = ()
    rest: str = ""
    """The prompt without the words that pick or agree."""


def offer(response: str) -> Offer:
    """Return what the end of a response offers."""
    tail = clip(response, 0, _TAIL).strip()
    said = sentences(plain(tail))
    asked = [
        index for index in range(max(0, len(said) - 6), len(said)) if said[index].endswith(_ASKS)
    ]
    question = said[asked[-1]] if asked else ""
    before = said[: asked[-1]] if asked else said
    basis = next((one.rstrip(":\uff1a") for one in reversed(before) if _is_basis(one)), "")
    choices, named = _options(tail)
    inline = {} if choices else {label: text.strip() for label, text in _INLINE.findall(tail)}
    choices = inline if len(inline) > 1 else choices
    is_choice = named or bool(_CHOOSES.search(question))
    return Offer(choices, shorten(question, _MAX_OPTION), shorten(basis, _MAX_BASIS), is_choice)


def reply(prompt: str, offered: Offer) -> Reply | None:
    """Return what the beginning of a prompt picks, accepts or turns down; None if nothing."""
    text = prompt.strip()
    if offered.options and (picks := picked(text, offered)) is not None:
        return picks
    for pattern, agrees in ((_YES, True), (_NO, False)):
        match = pattern.match(text)
        if match is not None:
            content = (offered.proposal,) if offered.proposal else ()
            rest = text[match.end() :]
            return Reply(content, (), rest) if agrees else Reply((), content, rest)
    return None


def refuses(text: str) -> bool:
    return _NO.match(text) is not None


def item_replies(lines: Sequence[str], offered: Offer) -> list[tuple[str, str]]:
    """Return (option, reply) for lines that all reply to options by their labels, else nothing.

    Without a question, one of them says yes or no, or has the mark of a number: `#2`.
    """
    found = [reply for line in lines if line.strip() for reply in [_ITEM_REPLY.fullmatch(line)]]
    replies = [one for one in found if one and one[2].lower() in offered.options]
    if not replies or len(replies) < len(found):
        return []
    if not offered.question and not any(
        one[1] or _YES.match(one[3]) or _NO.match(one[3]) for one in replies
    ):
        return []
    return [(offered.options[one[2].lower()], one[3].strip()) for one in replies]


def names_option(text: str) -> bool:
    """Return whether a text only picks options, whatever they are."""
    found = (pattern.match(text) for pattern in (_PICK, _ORDINAL, _ALL))
    return any(match is not None and not text[match.end() :].strip(" .!") for match in found)


def picked(text: str, offered: Offer) -> Reply | None:
    """Return what the beginning of a text picks of some options; None if nothing."""
    labels, options = list(offered.options), offered.options
    if _NEITHER.match(text):
        return Reply((), tuple(options.values()), text)
    match = _ALL.match(text)
    if match is not None:
        return Reply(tuple(options.values()), (), text[match.end() :])
    ordinal = _ORDINAL.match(text)
    if ordinal is not None:
        return _reply(
            [_of_ordinal(ordinal["ordinal"].lower(), labels)], text[ordinal.end() :], offered
        )
    match = _PICK.match(text)
    if match is None or match["label"].lower() not in options:
        return None
    is_word = match["label"].islower() and match["label"].isalpha() and not match["word"]
    # Only an option with its word, or alone: `a` is an article.
    rest = text[match.end() :].strip()
    if is_word and rest and not rest.startswith((")", ".")):
        return None
    chosen, end = [match["label"].lower()], match.end()
    while more := _MORE.match(text[end:]):
        if more.group(1).lower() not in options:
            break
        chosen.append(more.group(1).lower())
        end += more.end()
    return _reply(chosen, text[end:], offered)


def _reply(labels: Sequence[str], rest: str, offered: Offer) -> Reply:
    texts = [offered.options[label] for label in labels if label in offered.options]
    if _AGAINST.search(rest[:60]):
        return Reply((), texts, rest)
    others = [text for label, text in offered.options.items() if label not in labels]
    return Reply(texts, others if offered.alternatives else (), rest)


def _of_ordinal(word: str, labels: Sequence[str]) -> str:
    position = {"last": -1, "latter": -1, "former": 0}.get(word)
    if position is None:
        position = _ORDINALS.index(word)
    return labels[position] if position < len(labels) else ""


def _is_basis(sentence: str) -> bool:
    is_long = sum(map(str.isalpha, sentence)) > _MIN_BASIS_LETTERS
    return is_long and not sentence.endswith(_ASKS)


def _options(text: str) -> tuple[dict[str, str], bool]:
    """Return the last list of at least two items, and whether its items are called options."""
    found: dict[str, str] = {}
    last, is_named = {}, False
    for match in _ITEM.finditer(text):
        label = match["label"].lower()
        if label in {"1", "a"}:
            found = {}
        elif not found or not _follows(label, [*found][-1]):
            continue
        found[label] = shorten(plain(match["text"]).strip(" :"), _MAX_OPTION)
        if len(found) > 1:
            last, is_named = found, bool(match["word"])
    return last, is_named


def _follows(label: str, before: str) -> bool:
    if label.isdigit() and before.isdigit():
        return int(label) == int(before) + 1
    return len(label) == len(before) == 1 and ord(label) == ord(before) + 1
