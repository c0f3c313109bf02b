"""Rules for passwords that people choose, in sentences and tests of a user interface."""

from turnetl.redact import chosen
from turnetl.redact.announced_rules import IN_BACKTICKS, IN_QUOTES
from turnetl.redact.chosen import quoted_rule, said_rule, word_rule
from turnetl.redact.rule import password_rule
from turnetl.redact.vocabulary import PASSWORD

_WORD = r"([^ \t\r\n\"'`\\;<>|&(){}\[\]$«“「][^ \t\r\n\"'`\\;<>|]{2,127}?)"
_END = (
    r"[.,!?)]{0,2}(?:[ \t]*(?:\\+n|[\r\n]|$)|[ \t]+(?:by the way|please|and|but|for|I|on|at|today"
    r"|yesterday|now|again|until|because|since|temporarily)\b|[.,!][ \t]|\\*\"[ \t]*[,}\]])"
)
_VALUE = rf"(?:{IN_QUOTES}|{IN_BACKTICKS}|{_WORD}{_END})"
_ADVERB = r"(?:now|still|set[ \t]to|jetzt|nun|maintenant|ahora|agora|adesso|nu|teraz)"
_PURPOSE = (
    r"(?:[ \t]+(?:of|for|to|du|de|del|des|für|von|vom|zum|zur|da|do|di|van|voor|dla|til|от|для)"
    r"(?:[ \t]+[^ \t\r\n:=]{1,30}){1,3}?)"
)
"""What a password is for: `for the staging server`."""
_SAID = (
    rf"(?:{_PURPOSE}{{0,2}}[ \t]+(?:is|was|è|es|est|ist)(?:[ \t]+{_ADVERB})?[ \t]*:?[ \t]+"
    rf"|{_PURPOSE}{{1,2}}[ \t]*[:=][ \t]+)"
)
_FOREIGN = (
    r"(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha|hasło|пароль|Пароль"
    r"|parola|lösenord)"
)
_FOREIGN_SAID = (
    rf"{_PURPOSE}{{0,2}}[ \t]*(?:(?::|：|=)[ \t]*"  # noqa: RUF001
    rf"|[ \t](?:ist|lautet|est|es|é|è|is|to|är|er|=)(?:[ \t]+{_ADVERB})?(?:[ \t]*:)?[ \t]+)"
)
_FILLED = (
    r"\)?\.(?:fill|type|send_?[kK]eys|val|set_?[vV]alue|clearAndType|pressSequentially|input|"
    r"replace_text|typeText|set|toHaveValue|to_have_value)\([ \t]*"
)
_FILLS = (
    r"\b(?:fill|fill_?[iI]n|type|typeText|input|setValue|enter|change|clearAndType|sendKeys|"
    r"fillField|populate)[ \t(][^\r\n]{0,120}?"
)
_EVENT = r"\{[ \t]*target:[ \t]*\{[ \t]*value:[ \t]*"
SENTENCE_RULES = (
    said_rule(
        rf"(?i)(?:{PASSWORD}|\bpin|\bpw|\bpass){_SAID}{_VALUE}",
        "A sentence that says the password.",
    ),
    said_rule(
        rf"(?i){PASSWORD}[ \t]+to:?[ \t]+{_VALUE}",
        "A sentence that says what the password was changed to.",
        before=r"(?i:set|chang|reset|updat|rotat)[a-z]{0,4}[^.\r\n]{0,40}",
    ),
    said_rule(
        rf"()[ \t](?:as|for)[ \t](?:(?:the|my|your|a|its|root|admin|db)[ \t]){{0,2}}{PASSWORD}",
        "A sentence with the password before the keyword.",
        reversed_prefix=(
            rb"(?:[\"'`][^\"'`\\\r\n]{3,128}+[\"'`]|[^ \t\r\n\"'`\\;<>|&(){}\[\]$]{4,64}+)"
            rb"(?=[ \t]+(?:es[uU]|retn[eE]|epy[tT]|yr[tT]|htiw|neht)\b)"
        ),
    ),
    said_rule(
        r"(?i)(?:login|log in|sign in|credentials|creds|user(?:name)? ?/ ?(?:password|pass|pw))"
        r"(?:[ \t]+(?:are|is|with|as|using)){0,2}[ \t]*:?[ \t]+"
        rf"[a-z0-9_.@-]{{2,40}}[ \t]*[/:][ \t]*{_VALUE}",
        "A user name and a password in a sentence.",
    ),
    said_rule(
        r"()\((?:[Uu]ser(?:name)?[ \t]*/[ \t]*[Pp]assword)\)",
        "A user name and a password, explained after them.",
        reversed_prefix=rb"[ \t]*+[^ \t\r\n\"'`\\;<>|&(){}\[\]$/]{4,64}+(?=[ \t]*/)",
    ),
    password_rule(
        rf"(?i){_FOREIGN}{_FOREIGN_SAID}{_VALUE}", "A password in other languages.", chosen.is_said
    ),
    password_rule(
        rf"(?i){PASSWORD}[ \t]+{_WORD}[ \t]+(?:to|in|when|via|from)\b",
        "A password after an account, within a sentence.",
        chosen.is_said_within,
        before=(
            r"(?i:(?:[^\s@]{1,40}@[^\s@]{3,60}|(?:user(?:name)?|account|as)[ \t]+[^\s,;]{1,40})"
            r"[, \t]{1,3}(?:with|and|using)[ \t]+(?:the[ \t]+)?)"
        ),
    ),
    said_rule(
        rf"(?i){PASSWORD}(?::\*{{1,2}}|\*{{1,2}}:|:_|_:)[ \t]+{_VALUE}",
        "A password after its name in bold or italics.",
    ),
    said_rule(
        rf"(?i){PASSWORD}[ \t]for[ \t](?:key[ \t])?\\*['\"][^'\"\\\r\n]{{1,120}}\\*['\"]:[ \t]*"
        rf"{_WORD}[ \t]*(?:\\+[nr]|[\r\n]|$)",
        "The answer to the prompt of a program.",
    ),
    said_rule(
        rf"(?i)(?:Пароль|пароль|passwort|kennwort)[ \t]+{_VALUE}",
        "A password directly after its name.",
        before=r"(?:\A|[\r\n,]|\\n)[ \t]*",
    ),
    quoted_rule(
        rf"(?i)(?:{PASSWORD}|[#.=\"'](?:pw|pwd|pass))(?:input|field)?[\"'`\])/i\\]{{0,6}}"
        rf"{_FILLED}{IN_QUOTES}",
        "A test fills a field of a password.",
    ),
    quoted_rule(
        rf"(?i){PASSWORD}(?:input|field)?[\"'`\])/i\\]{{0,6}},[ \t]*"
        rf"(?:with:[ \t]*|{_EVENT})?{IN_QUOTES}",
        "A test fills a field of a password by a call.",
        before=_FILLS,
    ),
    word_rule(
        rf"(?i){PASSWORD}[\"'`\])]{{0,4}}[ \t]+([^ \t\r\n|]{{3,64}})[ \t]*(?:[\r\n]|$)",
        "A test fills a field of a password by a keyword.",
        before=r"(?:Input|Fill)[ \t](?:Text|Password|Secret)[^\r\n]{0,60}",
    ),
    quoted_rule(
        rf"(?i){PASSWORD}(?:[ _-]?(?:field|input|(?:text)?box|entry))?[\"'`\])\\]{{0,6}}"
        rf"(?:,[ \t]*\\*\"[a-z_]{{1,20}}\\*\"[ \t]*:[ \t]*\\*\"[^\"\\\r\n]{{0,60}}\\*\"){{0,3}}"
        rf",[ \t]*\\*\"(?:text|value|content|input)\\*\"[ \t]*:[ \t]*{IN_QUOTES}",
        "An agent fills a field of a password.",
    ),
    quoted_rule(
        r"(?i)type=\\*[\"']password\\*[\"'][^<>\r\n]{0,100}?value=\\*[\"']([^\"'\r\n\\]{3,128})",
        "The value of a field of a password in HTML.",
    ),
)
