"""Rules for secrets in sentences and notes, in any language, and in tests of a user interface.

First name, link, value; or value, name. Then the passwords that people choose.
"""

import re
from collections.abc import Iterator

from turnetl.redact import chosen
from turnetl.redact.announced_rules import IN_BACKTICKS, IN_QUOTES
from turnetl.redact.chosen import (
    line_rule,
    quoted_rule,
    said_rule,
    told_at_end_rule,
    told_rule,
    word_rule,
)
from turnetl.redact.rule import late_pattern, password_rule, value_rule
from turnetl.redact.vocabulary import (
    ADVERB,
    AFTER_VALUE,
    ASIAN_CHANGED,
    CHANGED,
    EAST_ASIAN_KEY,
    EAST_ASIAN_PASSWORD,
    FOREIGN_KEY,
    FOREIGN_PASSWORD,
    IS,
    KEY,
    LINK,
    PASSWORD,
    PIN,
    PURPOSE,
    SERVICES,
    SHORT_PASSWORD,
)

MAX_BEFORE = 160
_SAID_VALUE = (
    r"[\"'`*]{0,2}([^ \t\r\n\"'`\\;<>|&(){}\[\]0-9!#%^*~+@]{0,60}[0-9!#%^*~+@]"
    r"[^ \t\r\n\"'`\\;<>|&(){}\[\]]{0,60}+|[0-9]{3} [0-9]{3})[\"'`*]{0,2}"
)
_OWNER = r"(?:[ \t]+[a-z][a-z'-]{0,14}){0,4}[ \t]+"
BEFORE_NAME = (
    r"(?i:\b(?:us(?:e|ed|es|ing)|type|enter(?:ing)?|try|tried|trying|entered|typed|with|then"
    rf"|choos(?:e|ing)|chose|picked|set|put|have|took|made|got|pick|keep|need"
    rf"|to)[ \t]+{_SAID_VALUE}[ \t]+(?:as|for){_OWNER}"
    rf"|(?:\A|[ \t\r\n\"'>:(-]){_SAID_VALUE}[ \t]+(?:is|was|ist|est|es){_OWNER})"
)
"""A value with a digit or a sign, up to the name: it decides whether a text is a candidate."""
_BEFORE_NAME = late_pattern(rf"{BEFORE_NAME}\Z".encode())


def before_name(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the value before a name of a password or of a code."""
    first = max(0, match.start() - MAX_BEFORE)
    found = _BEFORE_NAME.search(data, first, match.start())
    if found is not None:
        yield found.span(found.lastindex or 0)


_NAMES = rf"(?:{PASSWORD}(?:-?nya)?|{FOREIGN_PASSWORD})"
_MARKUP = r"[\"'`*()\[\]“”„«»「」『』 \t]"
_MARKED = r"[|\"'`*)\[\]“”„«»「」 \t]"
_WORD = r"([^ \t\r\n\"'`\\;<>|&(){}\[\]«“„「」*#][^ \t\r\n\"'`\\;<>|」]{2,127}?)"
_END = (
    r"[.,!?)]{0,2}(?:[ \t]*(?:\\+[nr]|[\r\n]|$|[ \t]+\()|[ \t]+(?:by the way|btw|please|and|but"
    r"|for|I|on|at|today|yesterday|now|again|until|because|since|temporarily|no longer|an|und|pour"
    r"|para|per|om|to|when|in|then|ein|geändert|gesetzt)\b"
    r"|[ \t]+(?::[a-z_+-]{2,20}:|[(#|<&,;*]|(?:—|–)|--|//|<-|thx|thanks|ok\b|it\b|or\b|so\b|if\b"  # noqa: RUF001
    r"|as\b|with\b|let\b|you\b|we\b|expires|valid|works|within|before|after|while|change|only"
    r"|not\b)|[ \t]+(?:登入|です|입니다)|です|입니다|(?:\(으\))?로|[.,!][ \t]|\\*\"[ \t]*[,}\]])"
)
_VALUE = rf"(?:{IN_QUOTES}|„([^„“”\r\n]{{3,128}})[“”]|{IN_BACKTICKS}|{_WORD}{_END})"
_LETTER = r"[\xc3-\xd4][\x80-\xbf]"
"""A Latin, Greek or Cyrillic letter that is not ASCII."""
_TOKEN = (
    rf"((?:[A-Za-z0-9]|{_LETTER})(?:[A-Za-z0-9+/_.~!#%^$&@-]|{_LETTER}){{7,400}}={{0,2}})"
    r"(?:[^A-Za-z0-9+/_=-]|$)"
)
_CODES = (
    r"(?:(?:verification|security|confirmation|authentication|authorization|login|access"
    r"|one-time|sign-in)[ -](?:code|pin|passcode)|\botp|sicherheitscode|bestätigungscode)"
)
_SPEAKER = (
    r"(?:[\[(][^\[\]()\r\n]{3,30}[\])][ \t]*|[0-9][0-9:., /-]{3,24}[ \t]+)?<?@?[A-Za-z0-9_. -]{1"
    r",30}(?:[ \t]*[\[(]?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[APap][Mm])?[\])]?)?(?::[ \t]+"
    r"|>[ \t]+|(?:\r?\n|\\n))"
)
"""Who says the next line, as chats show it, with the time."""
_BOTH = (
    r"(?:u|user(?:name)?|login|id|benutzer)[ ]?/[ ]?(?:p|pw|pwd|pass(?:word|wort)?|kennwort)"
    r"|user(?:name)? (?:and|und) (?:pass(?:word|wort)?|pw)"
)
_USER = (
    r"(?:user(?:name)?|login|account|acct|benutzer(?:name)?|usu(?:a|á)rio|utilisateur|utente"
    r"|identifiant|gebruikersnaam|użytkownik|uživatel|používateľ|användare|bruker|bruger|tunnus"
    r"|kullanıcı|felhasználó|utilizator|pengguna|用户名|登录名|ユーザー名|(?:л|Л)огин)"  # noqa: RUF001
)

SAID_RULES = (
    said_rule(
        rf"(?i)(?:{_NAMES}(?:{PURPOSE}{{0,2}}{LINK}|{PURPOSE}{{1,2}}[ \t]*=[ \t]+|[ \t]+(?:type"
        rf"|enter)[ \t]+|(?:[ \t]+[^ \t\r\n:=,.]{{1,20}}){{0,5}}?[ \t]+{CHANGED}[ \t]*:?[ \t]+"
        rf"|(?:[ \t]+that)?[ \t]+(?:I|we|you|they)(?:[ \t]+[a-z]{{2,12}}){{1,3}}"
        rf"(?:[ \t]*:[ \t]+|[ \t]+(?:is|was)[ \t]+))"
        rf"|{FOREIGN_PASSWORD}(?:(?:[ \t]+[^ \t\r\n:=,.]{{1,24}}){{1,3}}{LINK}"
        rf"|(?:{PURPOSE})?[ \t]+(?:—|–|теперь|тепер)[ \t]+)"  # noqa: RUF001
        rf"|{FOREIGN_PASSWORD}[ \t]+(?:to|on|auf|en|in)[ \t]+"
        rf"|\b(?:shared|network|wi-?fi|wlan|vpn)[ -]key{LINK}"
        rf"|\b(?:(?-i:PIN|[Pp]in)|{SHORT_PASSWORD}){LINK}){_VALUE}",
        "A line that says the password.",
        # `Second pass: look at the tests`.
        before=r"(?<!cond )(?<!irst )(?<!hird )(?<!inal )(?<!next )(?<!last )(?<!one )",
    ),
    told_rule(
        rf"(?i){_NAMES}{_MARKUP}{{1,6}}{_WORD}"
        rf"(?:[.,;!?]{{0,3}}(?:[ \t\r\n)\"'`”“»」(]|\\+[nr]|$)|で)",
        "A password directly after its name.",
        before=r"(?:\A|[^/A-Za-z0-9_.-])[A-Za-z0-9_-]{0,40}",
    ),
    said_rule(
        rf"{EAST_ASIAN_PASSWORD}[ \t]*(?:是|为|為|は|を|는|은|를|을|:|：|="  # noqa: RUF001
        rf"|{ASIAN_CHANGED})?[ \t]*(?:{IN_QUOTES}|(?:「|『|“)?([!-'*-~]{{4,64}}))",
        "A password in Chinese, Japanese and Korean.",
    ),
    said_rule(
        rf"(?i){FOREIGN_PASSWORD}(?:[ \t]*(?:{IN_QUOTES}|„([^„“”\r\n]{{3,128}})[“”])"
        rf"|[ \t]+(?:[^ \t\r\n:=,.]{{1,20}}[ \t]+){{0,3}}?([!-'*-~]{{4,64}})[ \t]+{AFTER_VALUE}"
        r"(?:[^A-Za-z]|$))",
        "A password in quotes directly after its name, or before the verb of the sentence.",
    ),
    said_rule(
        rf"(?i)(?:{PASSWORD}|{SHORT_PASSWORD}|{FOREIGN_PASSWORD})[:=]?[*_`]{{0,2}}[ \t]+{_VALUE}",
        "A password after its user.",
        before=(
            rf"(?i:{_USER})[ \t:=*_`]{{1,6}}(?:is[ \t]+)?[^\s,;]{{1,60}}[,;/、 \t*_`]{{1,6}}"
            r"(?:(?:and|with|und|mit|et|y|e|con|avec|en|met|och|og|i|a|ja|ve|и|та|și|és"
            r"|dan)[ \t]+)?(?:(?:the|dem|das|le|la|el|het|a|o|il)[ \t]+)?"
        ),
    ),
    told_at_end_rule(
        rf"(?i)(?:{PASSWORD}|{SHORT_PASSWORD}[ \t:(]|{FOREIGN_PASSWORD}){_MARKUP}{{0,4}}{_VALUE}",
        "A password that somebody is asked to use.",
        before=(
            r"(?i:\b(?:with|using|use|try|mit|dem|con|avec|com|usa|use|utilise|met|gebruik|prova"
            r"|versuch es mit|用|this|it's"
            r"|root|admin|sudo|wifi|wlan|ssh|db|database|vpn|deploy|app|bank|router|smtp|my))[ \t]+"
            r"(?:(?:the|my|this|new|old|temp(?:orary)?|default|la|le|dem|das|el|o|a)[ \t]+)?"
        ),
    ),
    value_rule(
        rf"(?i)(?:{KEY}|{SERVICES}[ _-](?:key|secret|token)|\bsecret)(?:{PURPOSE}{{0,2}}{LINK}"
        rf"|(?:[ \t]+[^ \t\r\n:=,.]{{1,20}}){{1,4}}?[ \t]+(?:is|was|ist)[ \t]+"
        rf"|(?:{_MARKED}{{1,24}}|[ \t]\()|[ \t]*(?:-|–)[ \t]*)"  # noqa: RUF001
        rf"{_MARKUP}{{0,4}}{_TOKEN}",
        "A key or a token after its name, on one line.",
        chosen.is_key_or_marked,
    ),
    said_rule(
        rf"(?i)\((?:{PASSWORD}|{SHORT_PASSWORD}):?[ \t]+([^ \t\r\n()\"'`<>|]{{4,64}})\)",
        "A password in parentheses.",
    ),
    said_rule(
        rf"\b(?:pw|PW|passwort|Passwort)[ \t]+(?:auf|to)[ \t]+{_VALUE}",
        "A sentence that says what a password was changed to.",
    ),
    told_at_end_rule(
        rf"ssh[ \t]+[^ \t\r\n]{{1,60}}@[^ \t\r\n]{{1,60}}[ \t]+(?:/|,|with|pw"
        rf"|password)[ \t]+{_VALUE}",
        "A password after a host.",
    ),
    said_rule(
        rf"()[ \t]\((?:the |my |your ){PASSWORD}",
        "A value that the next words explain.",
        reversed_prefix=(
            rb"[^ \t\r\n\"'`\\;<>|&(){}\[\]$]{4,64}+"
            rb"(?=[ \t]+(?:(?:won|llits)[ \t]+)?(?:s'|si|esu))"
        ),
    ),
    told_rule(
        rf"(?i)(?:{_NAMES}s?(?:[ \t]+-{{1,2}}[ \t]+"
        rf"|(?:[ \t]+[^\s:=]{{1,20}}){{0,6}}?[ \t]*(?::|[ \t](?:{IS}|to|as|auf"
        rf"|en|a|à|in|na|till?|на|în|σε|vaihdettiin)[ \t])[ \t]*(?:{ADVERB}[ \t]+)?)"
        rf"|\b(?-i:[Pp]wd?|PWD?)(?:{LINK}|[ \t]+))[(\[\"'`*]{{0,2}}"
        rf"(?=[^ \t\r\n]{{0,64}}[0-9!#%^*~+@])"
        rf"{_WORD}[.,;!?)\"'`]{{0,3}}(?:[ \t\r\n]|\\+[nr]|$)",
        "A password after several words about it.",
    ),
    told_rule(
        rf"(?i)(?:{_NAMES}|\bpwd?)(?:[ \t]*:|[ \t]++[^\r\n|]{{0,60}}?)?[ \t]*(?:\r?\n){{1,2}}"
        rf"(?:```[a-z]{{0,8}}\r?\n)?[ \t]*([^ \t\r\n"
        rf"|:=(){{}}\[\]<>\"'`,]{{6,128}})[ \t]*(?:[\r\n]|$)",
        "A password alone on the line after one that announces it.",
    ),
    told_at_end_rule(
        rf"(?i)(?:{_NAMES}(?:[ \t]*:|[^\r\n|]{{0,40}}:)|initial-password[^\r\n"
        rf"|]{{0,40}})[ \t]*(?:\r?\n){{1,2}}"
        r"[ \t]*([^ \t\r\n|:=(){}\[\]<>\"'`,]{6,128})[ \t]*(?:[\r\n]|$)",
        "The same after a colon: also a word.",
        before=r"(?i:generated|initial|temporary|admin|root|\A|\n)[^\r\n]{0,30}",
    ),
    said_rule(
        rf"(?i){_NAMES}[^\r\n:=.]{{1,60}}:?[ \t]+(?:still|now|set to)[ \t]+{_VALUE}",
        "A sentence about a password, and then the password.",
    ),
    said_rule(
        rf"(?i)(?:\bu:[ \t]+|\blogin:\*?[ \t]+|\buser(?:name)?:?\*?[ \t]+)[^\s:,;]{{1,60}}(?:"
        rf"[ \t,;]{{1,4}}|(?:\r?\n|\\+n)[ \t]*)"
        rf"\*?(?:p|pw|pass|pwd)(?::\*?|[ \t])[ \t]*{_VALUE}",
        "A user, and a password with a short name beside or below it.",
    ),
    told_at_end_rule(
        rf"(?i){PASSWORD}\?(?:[ \t]+|[ \t\r\n]*A:[ \t]*){_VALUE}", "The answer to a question."
    ),
    told_at_end_rule(
        rf"(?i)(?:\bagain|\bverify|\bconfirm)(?:[ \t]+[a-z]{{1,12}})?:[ \t]+{_VALUE}",
        "What is typed again at the prompt for a password.",
        before=r"(?i:assword|passphrase)[^\x00]{0,100}",
    ),
    told_at_end_rule(
        rf"(?i)(?:{PASSWORD}|\bpwd?\b|\bpass\b|passwort|kennwort)[^\r\n?:=]{{0,40}}\?(?:\r?\n|\\n)"
        rf"(?:\r?\n|\\n)?{_SPEAKER}[ \t]*{_VALUE}",
        "The answer of another person to a question.",
    ),
    line_rule(
        rf"(?i)(?:passphrase|phrase (?:secrète|de passe)|frase de (?:contraseña|paso))"
        rf"{PURPOSE}{{0,2}}(?:(?:{LINK}|[ \t]*=[ \t]*)[\"']?"
        r"([a-z]{3,12}(?:[ -][a-z]{3,12}){2,7})[ \t.\"']*(?:[\r\n]|\\n|$))|\bsecret\\*[\"']?[ \t]*"
        r"[:=][ \t]*\\*[\"']((?-i:[a-z]{3,12}(?:[ -][a-z0-9]{3,12}){3,7}))\\*[\"']",
        "A passphrase of words.",
    ),
    told_at_end_rule(
        rf"(?i)(?:wifi|wlan|wi-fi|ssid)\b[^\r\n]{{0,40}}?(?:\bkey|\bcode|schlüssel|clé"
        rf"|/)[ \t:]+(?:is[ \t]+)?{_VALUE}",
        "The key of a network.",
    ),
    told_at_end_rule(
        r"(?i)(?:zugangsdaten|identifiants|credenciales|credenziali|inloggegevens|creds|credentials"
        rf"|logins?|accès|acceso|accesso|{_BOTH})(?:{PURPOSE})?[ \t]*(?:=|:|is|are|->|→)?[ \t]+"
        rf"(?:(?:as|with|using)[ \t]+)?[`\"'*]{{0,2}}"
        rf"(?:[a-z0-9_.@-]{{2,40}}[`\"'*]{{0,2}}[ \t]*(?:/{{1,2}}|:|\||,|;|->|→|\\\\)[ \t]*"
        rf"|[a-z0-9_.-]{{1,40}}@[a-z0-9.-]{{1,40}}[ \t]+){_VALUE}",
        "A user and a password in a sentence.",
    ),
    told_rule(
        rf"(?i)(?:zugangsdaten|identifiants|credenciales|credenziali|creds|credentials|{_BOTH}"
        rf"|log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|connect|authenticate|einloggen|anmelden)"
        rf"(?:{PURPOSE})?(?:[ \t]*(?:=|:|->|→)|[ \t]+(?:is|are|as|with|using|mit|als|via))[ \t]+"
        rf"[`\"'*]{{0,2}}[a-z0-9_.@-]{{2,40}}[`\"'*]{{0,2}}"
        rf"(?:[ \t]+(?:and|und|et|y|e|en|using|with|mit)|[ \t]*[/,:])?[ \t]+{_VALUE}",
        "The same with a word between them, or only a space.",
    ),
    told_rule(
        r"(?i)(?:zugangsdaten|identifiants|creds|credentials|access data|log ?in(?: details"
        r"| data| info)?|account)[^\r\n.,;=]{0,40}"
        r"(?:\r?\n|\\n){1,2}[ \t>*•-]{0,8}[a-z0-9_.@-]{2,60}[ \t]*(?:\r?\n|\\n)[ \t>*•-]{0,8}"
        r"[`\"'*]?([^ \t\r\n\"'`\\<>|:=(){}\[\],;]{6,64})[`\"'*]?[ \t]*(?:[\r\n]|\\n|\\*\"|$)",
        "A user and a password below each other.",
    ),
    told_rule(
        rf"(?i)(?:{_NAMES}|\bpw|\bpwd|\bpass)(?:[ \t]++[^\r\n:?=]{{0,40}})?[.:]?[ \t]*(?:\r?\n"
        rf"|\\n){{1,2}}{_SPEAKER}"
        rf"[`\"'*]?([^ \t\r\n\"'`\\<>|=(){{}}\[\],;]{{6,64}})[`\"'*]?[ \t]*(?:[\r\n]|\\n|\\*\"|$)",
        "The next message of a chat, that is only a password.",
    ),
    password_rule(
        rf"(?i){PIN}\\*[\"'`*]?(?:[ \t]+(?:is|was|ist|lautet|est|es|è|é|to|je|är|er|on|este"
        rf"|là|adalah|(?:for|of)[ \t][^\r\n\d]{{1,30}})(?:[ \t]+now)?)?[ \t]*(?:は|是|:|："  # noqa: RUF001
        rf"|=)?[ \t]*\\*[\"'`*]{{0,2}}"
        r"([0-9]{4,8}|[0-9]{3}[ -][0-9]{3})\\*[\"'`*]?(?:[^0-9A-Za-z.:/-]|[.,]?(?:[\s]|$))",
        "A number that opens something.",
        chosen.is_anything_chosen,
        before=r"(?<![A-Za-z0-9_])",
    ),
    password_rule(
        rf"(?i)(?:{PASSWORD}|{_CODES})\b",
        "A value before its name, within a sentence.",
        chosen.is_told_or_number,
        locate=before_name,
        before=BEFORE_NAME,
        before_bytes=MAX_BEFORE,
    ),
    value_rule(
        rf"(?i)(?:{EAST_ASIAN_KEY}|{FOREIGN_KEY})(?:{PURPOSE}{{0,2}}{LINK}|[ \t]+to[ \t]+"
        rf"|[ \t]*(?:是|为|は|는|은|:|：)?[ \t]*)[\"'`]?{_TOKEN}",  # noqa: RUF001
        "A key in other languages.",
        chosen.is_key,
    ),
    said_rule(
        rf"(?i){PASSWORD}[ \t]+from[ \t]+[^ \t\r\n]{{4,64}}[ \t]+to[ \t]+{_VALUE}",
        "A password that was changed from one to another.",
    ),
    told_rule(
        rf"(?:admin|root|administrator|postgres|demo)[ \t]*(?:/|:|\|)[ \t]*{_VALUE}",
        "A usual user and a password, alone on a line, or that somebody is asked to use.",
        before=(
            r"(?:(?:\A|[\r\n]|\\n)[ \t>*•-]{0,8}"
            r"|\b(?:[Uu]se|[Uu]sing|[Tt]ry|with|as)[ \t]+[`\"']?)"
        ),
    ),
    line_rule(
        r"(?i)passphrase[ \t]+([a-z]{3,12}(?:[ -][a-z]{3,12}){3,7})[ \t.\"']*(?:[\r\n]|\\n|$)",
        "A passphrase of words that somebody is asked to use.",
        before=r"(?i:enter|use|with|using|try)[ \t]+(?:(?:the|this|my)[ \t]+)?",
    ),
)


_CHOSEN_WORD = r"([^ \t\r\n\"'`\\;<>|&(){}\[\]$«“「][^ \t\r\n\"'`\\;<>|]{2,127}?)"
_CHOSEN_END = (
    r"[.,!?)]{0,2}(?:[ \t]*(?:\\+n|[\r\n]|$)|[ \t]+(?:by the way|please|and|but|for|I|on|at|today"
    r"|yesterday|now|again|until|because|since|temporarily)\b|[.,!][ \t]|\\*\"[ \t]*[,}\]])"
)
_CHOSEN = rf"(?:{IN_QUOTES}|{IN_BACKTICKS}|{_CHOSEN_WORD}{_CHOSEN_END})"
_CHOSEN_ADVERB = r"(?:now|still|set[ \t]to|jetzt|nun|maintenant|ahora|agora|adesso|nu|teraz)"
_CHOSEN_PURPOSE = (
    r"(?:[ \t]+(?:of|for|to|du|de|del|des|für|von|vom|zum|zur|da|do|di|van|voor|dla|til|от|для)"
    r"(?:[ \t]+[^ \t\r\n:=]{1,30}){1,3}?)"
)
"""What a password is for: `for the staging server`."""
_SAID = (
    rf"(?:{_CHOSEN_PURPOSE}{{0,2}}[ \t]+(?:is|was|è|es|est|ist)(?:[ \t]+{_CHOSEN_ADVERB})?"
    rf"[ \t]*:?[ \t]+|{_CHOSEN_PURPOSE}{{1,2}}[ \t]*[:=][ \t]+)"
)
_FOREIGN = (
    r"(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha|hasło|пароль|Пароль"
    r"|parola|lösenord)"
)
_FOREIGN_SAID = (
    rf"{_CHOSEN_PURPOSE}{{0,2}}[ \t]*(?:(?::|：|=)[ \t]*"  # noqa: RUF001
    rf"|[ \t](?:ist|lautet|est|es|é|è|is|to|är|er|=)(?:[ \t]+{_CHOSEN_ADVERB})?(?:[ \t]*:)?[ \t]+)"
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
        rf"(?i)(?:{PASSWORD}|\bpin|\bpw|\bpass){_SAID}{_CHOSEN}",
        "A sentence that says the password.",
    ),
    said_rule(
        rf"(?i){PASSWORD}[ \t]+to:?[ \t]+{_CHOSEN}",
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
        rf"[a-z0-9_.@-]{{2,40}}[ \t]*[/:][ \t]*{_CHOSEN}",
        "A user name and a password in a sentence.",
    ),
    said_rule(
        r"()\((?:[Uu]ser(?:name)?[ \t]*/[ \t]*[Pp]assword)\)",
        "A user name and a password, explained after them.",
        reversed_prefix=rb"[ \t]*+[^ \t\r\n\"'`\\;<>|&(){}\[\]$/]{4,64}+(?=[ \t]*/)",
    ),
    password_rule(
        rf"(?i){_FOREIGN}{_FOREIGN_SAID}{_CHOSEN}",
        "A password in other languages.",
        chosen.is_said,
    ),
    password_rule(
        rf"(?i){PASSWORD}[ \t]+{_CHOSEN_WORD}[ \t]+(?:to|in|when|via|from)\b",
        "A password after an account, within a sentence.",
        chosen.is_said_within,
        before=(
            r"(?i:(?:[^\s@]{1,40}@[^\s@]{3,60}|(?:user(?:name)?|account|as)[ \t]+[^\s,;]{1,40})"
            r"[, \t]{1,3}(?:with|and|using)[ \t]+(?:the[ \t]+)?)"
        ),
    ),
    said_rule(
        rf"(?i){PASSWORD}(?::\*{{1,2}}|\*{{1,2}}:|:_|_:)[ \t]+{_CHOSEN}",
        "A password after its name in bold or italics.",
    ),
    said_rule(
        rf"(?i){PASSWORD}[ \t]for[ \t](?:key[ \t])?\\*['\"][^'\"\\\r\n]{{1,120}}\\*['\"]:[ \t]*"
        rf"{_CHOSEN_WORD}[ \t]*(?:\\+[nr]|[\r\n]|$)",
        "The answer to the prompt of a program.",
    ),
    said_rule(
        rf"(?i)(?:Пароль|пароль|passwort|kennwort)[ \t]+{_CHOSEN}",
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
