"""Secrets by the names that stand before them: in settings, code, commands and sentences."""

import re

from turnetl.redact import plausible
from turnetl.redact.rule import SecretRule

# Names of what a person chose, and of what a machine drew.
_CHOSEN = r"(?:passw(?:or)?d|pwd|passphrase)"
_ELSEWHERE = (
    r"(?:passwort|kennwort|requirepass|identified by|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha"
    r"|hasło|clave|api[ -]schlüssel|пароль|Пароль|密码|密钥|パスワード|비밀번호)"
)
_DRAWN = (
    r"(?:secret|token|api[ _-]?key|access[ _-]?key(?:[_-]id)?|private[_-]?key|account[_-]?key"
    r"|auth[_-]?key|master[_-]?key|app[_-]?key|encryption[_-]?key|signing[_-]?key|preshared[_-]?key"
    r"|credentials?)"
)
_OF = r"(?:_(?:prod|production|dev|staging|test|live|value|key|base|[0-9]+)){0,2}"
# JSON inside JSON: quotes come with any number of backslashes.
# A new line, also in JSON, behind a line number or in a diff.
LINE = r"(?:\\+[nr]|[\r\n]){1,4}[^A-Za-z0-9\\\r\n]{0,40}(?:[0-9]{1,6}[^A-Za-z0-9\\\r\n]{1,40})?"
# YAML may put a value under its name.
_IS = rf"\\*[\"'`]?\]?[ \t]*(?::=|=>|=|:|：)[ \t]*(?:[>|][+-]?{LINE})?"  # noqa: RUF001  wide
_NEAR = (
    r"(?:\\*[\"'`]?[ \t]*(?:,|\|\|?|\?\?)[ \t]*|(?:[ \t]{1,8}[A-Za-zè]{1,12}){0,2}:?[ \t]{1,8}"
    r"|是|>|</key>[^<>]{0,40}<string>|\\*[\"'][ \t]+value=)"
)
_NO_VALUE = r" \t\r\n\"'`\\,;<>{}()\[\]"
_ENDS = r"(?:[ \t\r\n\"'`\\,;&<|]|$)"
_QUOTED = r"\\*[\"'`]([^\"'`\\\r\n]{4,})\\*[\"'`]"
_BARE = rf"([^$|{_NO_VALUE}][^{_NO_VALUE}]{{5,}}){_ENDS}"
# A token has a digit soon: most words that stand near a name have none, and are no suspects.
_QUOTED_DRAWN = (
    r"\\*[\"'`]((?:[^0-9\"'`\\\r\n]{5,39}[0-9]|[^0-9\"'`\\\r\n]{0,4}[0-9][^\"'`\\\r\n]{5})"
    r"[^\"'`\\\r\n]*)\\*[\"'`]"
)
_BARE_DRAWN = (
    rf"((?:[^0-9$|{_NO_VALUE}]{{5,39}}[0-9]|[^0-9$|{_NO_VALUE}]{{0,4}}[0-9][^{_NO_VALUE}]{{5}})"
    rf"[^{_NO_VALUE}]*){_ENDS}"
)
_LONG = rf"[^{_NO_VALUE}]{{200,}}"
# What markup, colours, escapes and types put between a name and its value: one sign or word at a
# time, so that there is one way only to read it.
_SIGNS = (
    r"(?:\\{0,8}(?:\x1b|u001b|x1b|033)?\[[0-9;]{0,8}m|[^A-Za-z0-9\\%&\r\n]|\\{1,8}[\"'`t]"
    r"|\\{1,8}u00[0-9a-f]{2}|%[0-9A-Fa-f]{2}|&(?:(?:quot|amp|nbsp|#[0-9]{2});)?"
    r"|[bfru]\\{0,8}[\"'`]|(?:t[dh]|d[dt]|code|strong|span|None|str(?:ing)?|name|pw|value|type|est?"
    r"|ist|lautet|di|root|s)[^A-Za-z0-9\\\r\n])"
)
_BELOW = (
    rf"(?:[ \t\"'`*]{{0,6}}[:=][ \t\"'`*]{{0,6}}{LINE}(?:{LINE}|(?:bash|env|sh|text|txt){LINE})?"
    rf"|[\"'`, \t\\]{{0,8}}{LINE}[\"'`\\]{{0,4}}value[\"'`\\]{{0,4}}[ \t]*[:=]"
    rf"|[\"'\\]{{0,4}}[ \t]*\{{(?:{LINE}[a-z]{{1,12}}[ \t]*=[^\r\n\\]{{1,40}}){{0,3}}"
    rf"{LINE}default[ \t]*=)[ \t]*\\*[\"'`]?"
)
_DRAWN_VALUE = r"([!#$*+./0-9:=?@A-Z^_a-z~-]{8,})"
NAMED = (
    SecretRule(
        "password",
        rf"(?i){_CHOSEN}{_OF}{_IS}{_QUOTED}",
        "A quoted value given to a password, chosen by a person or drawn.",
        plausible.password,
    ),
    SecretRule(
        "password",
        rf"(?i){_CHOSEN}{_OF}(?:{_IS}|[ \t]+is:?[ \t]+){_BARE}",
        "The same without quotes: .env, YAML, a sentence.",
        plausible.mixed,
        over=rf"{_CHOSEN}{_OF}{_IS}{_LONG}",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:password|passphrase){_OF}"
        rf"(?:{_NEAR}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})|\({_QUOTED_DRAWN})",
        "The same with other words between: netrc, SQL, XML, tables, defaults in code.",
        plausible.token,
        over=rf"(?:password|passphrase){_OF}{_NEAR}{_LONG}",
    ),
    SecretRule(
        "password",
        rf"(?i){_ELSEWHERE}(?:{_IS}|{_NEAR})(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})",
        "Its names in other languages, and in Redis and SQL.",
        plausible.token,
        over=rf"{_ELSEWHERE}(?:{_IS}|{_NEAR}){_LONG}",
    ),
    SecretRule(
        "password",
        rf"(?:_PASS|_PW|_pass){_OF}=(?:{_QUOTED}|{_BARE})",
        "The same by a short name, as settings in the environment have.",
        plausible.mixed,
        over=rf"(?:_PASS|_PW|_pass){_OF}={_LONG}",
    ),
    SecretRule(
        "password",
        rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_IS}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})",
        "The same by names so short that only what is drawn can be told from words.",
        plausible.token,
        over=rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_IS}{_LONG}",
    ),
    SecretRule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}(?:{_IS}(?:{_QUOTED}|{_BARE})|[ \t]+is:?[ \t]+{_BARE})",
        "A value given to a token, a secret, a key: code, .env, YAML, a sentence.",
        plausible.token,
        over=rf"{_DRAWN}{_OF}{_IS}{_LONG}",
    ),
    SecretRule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}"
        rf"(?:{_NEAR}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})|\({_QUOTED_DRAWN})",
        "The same with other words between: Dockerfiles, shells, XML, defaults in code.",
        plausible.drawn,
        over=rf"{_DRAWN}{_OF}{_NEAR}{_LONG}",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:passw(?:or)?d|passphrase|{_ELSEWHERE}){_OF}(?:{_SIGNS}{{1,60}}|{_BELOW}){_DRAWN_VALUE}",
        "The same in tables, HTML, colours and escapes, with a type, or on a line of its own.",
        plausible.drawn_password,
    ),
    SecretRule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}(?:{_SIGNS}{{1,60}}|{_BELOW}){_DRAWN_VALUE}",
        "The same of what machines draw.",
        plausible.drawn_value,
    ),
    SecretRule(
        "password",
        r"()[ \t]as[ \t](?:(?:the|my|your|a|its|root|admin|db)[ \t]){0,2}"
        r"(?:password|passphrase|secret|token|api key)",
        "A sentence that tells the password before it says that it is one.",
        plausible.drawn_password,
        before=re.compile(rb"[!#$*+./0-9:=?@A-Z^_a-z~-]{8,128}+"),
    ),
    SecretRule(
        "password",
        r"(?i)(?:credentials|creds|login)(?:[ \t]+(?:are|is|with|as))?[ \t]*:?[ \t]+"
        rf"[a-z0-9_.@-]{{2,40}}[ \t]*[:/][ \t]*{_BARE_DRAWN}",
        "A sentence that tells a name and a password.",
        plausible.token,
    ),
    SecretRule(
        "flag",
        r"(?i)--?(?:[a-z]{1,12}-){0,2}(?:password|passwd|passphrase|storepass|keypass|token|api-?key"
        rf"|secret|secret-string|authtoken)[ =]\\*[\"']?{_BARE}",
        "A secret given to a command.",
        plausible.mixed,
    ),
    SecretRule(
        "flag",
        r"(?:(?:--from-literal[ =]\\*[\"']?|vault kv put [^ \t\r\n]{1,100} )[A-Za-z0-9._-]{1,60}="
        r"|SecureString[^\r\n]{1,100}--value[ =]|gh secret set [^\r\n]{1,100}(?:--body|-b)[ =]"
        rf"|htpasswd -[a-zA-Z]{{1,4}} [^ ]{{1,100}} [^ ]{{1,60}} )\\*[\"']?{_BARE}",
        "Commands that put a secret away, under any name.",
        plausible.mixed,
    ),
    SecretRule(
        "flag",
        r"(?:sshpass|mysql[a-z]{0,8}|mariadb[a-z-]{0,8}|(?:docker|podman|buildah|az|registry) login"
        r"|mongo[a-z]{0,8}|redis-cli|ldap(?:search|add|modify|passwd)|g?zip|7z|unrar)"
        rf"[^\r\n|;&]{{0,150}}?[ \t]-[pPaw][ \t]*\\*[\"']?{_BARE_DRAWN}",
        "Commands that take a password behind a single letter.",
        plausible.token,
    ),
)
