"""Rules for passwords that people choose, in fields of markup, requests, settings and databases."""

from turnetl.redact import chosen
from turnetl.redact.announced_rules import IN_QUOTES, LINE, LINE_END, LINE_START
from turnetl.redact.rule import SecretRule
from turnetl.redact.vocabulary import PASSWORD

_EMPTY_LINE = r"(?:(?:\r?\n){2}|(?:\\+r)?\\+n(?:\\+r)?\\+n)"
_USER_LINE = (
    r"(?:\A|[\r\n]|\\n)[ \t+-]{0,24}(?i:user(?:name)?|login)[ \t]*[:=][ \t]*[^\r\n:=]{1,80}"
    r"(?:\r?\n|\\n)[ \t+-]{0,24}"
)
FIELD_RULES = (
    SecretRule(
        "password",
        rf"(?i){PASSWORD}\\*\"{_EMPTY_LINE}([^\r\n\\\"]{{3,128}})",
        "A field of a form that a request sends in parts.",
        chosen.is_chosen,
        before=r"(?:\A|[ \t;])name=\\*\"[A-Za-z0-9_.-]{0,30}",
    ),
    SecretRule(
        "password",
        rf"(?i){PASSWORD}[ \t]{{1,40}}{LINE}{LINE_END}",
        "A name with dots and a value without a sign between them, as in properties of Java.",
        chosen.is_chosen_word,
        before=rf"{LINE_START}[a-z0-9_-]{{1,40}}(?:\.[a-z0-9_-]{{1,40}}){{0,6}}\.",
    ),
    SecretRule(
        "password",
        rf"(?:[Pp]ass|PASS|[Pp]w|PW)[ \t]*[:=][ \t]*{LINE}{LINE_END}",
        "A short name of a password on the line after its user.",
        chosen.is_chosen_line,
        before=_USER_LINE,
    ),
    SecretRule(
        "password",
        r"(?i)(?:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt|encryptbypassphrase)\("
        rf"[^()\r\n]{{1,200}}?,[ \t]*{IN_QUOTES}[ \t]*[,)]",
        "The key of a function of a database that encrypts.",
        chosen.is_chosen,
    ),
    SecretRule(
        "password",
        rf"(?i)(?:{PASSWORD}|pass|pwd?)[ \t]{{1,8}}([^ \t\r\n\"'`\\|<>{{}}()]{{4,128}}){LINE_END}",
        "A name of several words and a value without a sign between them.",
        chosen.is_told,
        before=rf"{LINE_START}[a-z0-9]{{1,20}}(?:[._-][a-z0-9]{{1,20}}){{0,4}}[._-]",
    ),
)
