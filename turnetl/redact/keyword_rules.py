"""Keyword rules: secrets after a keyword, in settings, code, commands and sentences."""

from turnetl.redact import chosen, plausible
from turnetl.redact.rule import SecretRule

# Keywords of passwords, which people choose, and of tokens, which machines generate.
_CHOSEN_NAMES = r"(?:passw(?:or)?d|pwd|passphrase)"
_FOREIGN_NAMES = (
    r"(?:passwort|kennwort|requirepass|identified by|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha"
    r"|hasło|clave|api[ -]schlüssel|пароль|Пароль|密码|密钥|パスワード|비밀번호)"
)
_GENERATED_NAMES = (
    r"(?:secret(?:[ _-]?key)?|token|license_key|write_key|admin_key|webhook_key|ingestion_key"
    r"|fernet|hmac|pepper|totp|jwt[_-]signing|x-auth|functions-key|subscription-key|deploy_key"
    r"|session_key|hmac_key|sdk_key|service_key|storage_key|ext_pat|"
    r"api[ _-]?key|access[ _-]?key(?:[_-]id)?|private[_-]?key|account[_-]?key"
    r"|auth[_-]?key|master[_-]?key|app[_-]?key|encryption[_-]?key|signing[_-]?key|preshared[_-]?key"
    r"|credentials?)"
)
_NAME_SUFFIX = r"(?:_(?:prod|production|dev|staging|test|live|value|key|base|secret|[0-9]+)){0,2}"
# In nested JSON, any number of backslashes precedes a quote.
# A newline, also escaped in JSON, after a line number or in a diff.
LINE_BREAK = (
    r"(?:\\+[nr]|[\r\n]){1,4}[^A-Za-z0-9\\\r\n]{0,40}(?:[0-9]{1,6}[^A-Za-z0-9\\\r\n]{1,40})?"
)
# YAML may put a value on the line after its name.
_ASSIGNED = rf"\\*[\"'`]?\]?[ \t]*(?::=|=>|=|:|：)[ \t]*(?:[>|][+-]?{LINE_BREAK})?"  # noqa: RUF001  wide
_NOT_VALUE = r" \t\r\n\"'`\\,;<>{}()\[\]"
_VALUE_END = r"(?:[ \t\r\n\"'`\\,;&<|]|$)"
_QUOTED = r"\\*[\"'`]([^\"'`\\\r\n]{4,})\\*[\"'`]"
_UNQUOTED = rf"([^$|{_NOT_VALUE}][^{_NOT_VALUE}]{{5,}}){_VALUE_END}"
# A token has a digit near its start: most words near a keyword have none and are no candidates.
_QUOTED_GENERATED = (
    r"\\*[\"'`]((?:[^0-9\"'`\\\r\n]{5,39}[0-9]|[^0-9\"'`\\\r\n]{0,4}[0-9][^\"'`\\\r\n]{5})"
    r"[^\"'`\\\r\n]*)\\*[\"'`]"
)
_UNQUOTED_GENERATED = (
    rf"((?:[^0-9$|{_NOT_VALUE}]{{5,39}}[0-9]|[^0-9$|{_NOT_VALUE}]{{0,4}}[0-9][^{_NOT_VALUE}]{{5}})"
    rf"[^{_NOT_VALUE}]*){_VALUE_END}"
)
_LONG_VALUE = rf"[^{_NOT_VALUE}]{{200,}}"
# Markup, colours, escapes and types between a name and its value: one character or word at a time,
# so that there is only one way to match them.
_MARKUP = (
    r"(?:\\{0,8}(?:\x1b|u001b|x1b|033)?\[[0-9;]{0,8}[mK]|[^A-Za-z0-9\\%&\r\n]|\\{1,8}[\"'`t]"
    r"|\\{1,8}u00[0-9a-f]{2}|%[0-9A-Fa-f]{2}|&(?:(?:quot|amp|nbsp|#[0-9]{2});)?"
    r"|[bfru]\\{0,8}[\"'`]|(?<!=)(?:t[dh]|d[dt]|code|strong|span|None|str(?:ing)?|name|pw|value|type"
    r"|est?|ist|lautet|di|root|s)[^A-Za-z0-9\\\r\n\x1b])"
)
_NEXT_LINE = (
    rf"(?:[ \t\"'`*]{{0,6}}[:=][ \t\"'`*]{{0,6}}{LINE_BREAK}"
    rf"(?:{LINE_BREAK}|(?:bash|env|sh|text|txt){LINE_BREAK})?"
    rf"|[\"'`, \t\\]{{0,8}}{LINE_BREAK}[\"'`\\]{{0,4}}value[\"'`\\]{{0,4}}[ \t]*[:=]"
    rf"|[\"'\\]{{0,4}}[ \t]*\{{(?:{LINE_BREAK}[a-z]{{1,12}}[ \t]*=[^\r\n\\]{{1,40}}){{0,3}}"
    rf"{LINE_BREAK}default[ \t]*=)[ \t]*\\*[\"'`]?"
)
_GENERATED_VALUE = r"([!#$*+./0-9:=?@A-Z^_a-z~-]{8,})"
KEYWORD_RULES = (
    SecretRule(
        "password",
        rf"(?i){_CHOSEN_NAMES}{_NAME_SUFFIX}(?:{_ASSIGNED}|[ \t]+is:?[ \t]+){_UNQUOTED}",
        "A password without quotes: .env, YAML, a sentence.",
        plausible.is_unquoted_password,
        skip=rf"{_CHOSEN_NAMES}{_NAME_SUFFIX}{_ASSIGNED}{_LONG_VALUE}",
    ),
    SecretRule(
        "password",
        rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_ASSIGNED}(?:{_QUOTED_GENERATED}"
        rf"|{_UNQUOTED_GENERATED})",
        "A keyword so short that only a generated value differs from ordinary words.",
        plausible.is_token,
        # `bypass` and `compass` are words.
        before=r"(?<![Bb]y)(?<![Cc]om)(?<![Tt]res)(?<![Ss]ur)(?<![Oo]ver)(?<![Uu]nder)",
        skip=rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_ASSIGNED}{_LONG_VALUE}",
    ),
    SecretRule(
        "secret-value",
        rf"(?i)(?:{_GENERATED_NAMES}{_NAME_SUFFIX}{_ASSIGNED}"
        rf"|authorization{_ASSIGNED}(?:[a-z-]{{2,12}}[ \t]+)?)(?:{_QUOTED}|{_UNQUOTED})"
        rf"|{_GENERATED_NAMES}{_NAME_SUFFIX}[ \t]+is:?[ \t]+{_UNQUOTED}",
        "The value of a token, a secret or a key: code, .env, YAML, a header, a sentence.",
        chosen.is_secret_value,
        skip=rf"{_GENERATED_NAMES}{_NAME_SUFFIX}{_ASSIGNED}{_LONG_VALUE}",
    ),
    SecretRule(
        "password",
        rf"(?i)(?:passw(?:or)?d|passphrase|{_FOREIGN_NAMES}){_NAME_SUFFIX}(?:{_MARKUP}{{1,60}}"
        rf"|{_NEXT_LINE}){_GENERATED_VALUE}",
        "A password in tables, HTML, colours and escapes, with a type, or on the next line.",
        plausible.is_generated_password,
    ),
    SecretRule(
        "secret-value",
        rf"(?i){_GENERATED_NAMES}{_NAME_SUFFIX}(?:{_MARKUP}{{1,60}}"
        rf"|{_NEXT_LINE}){_GENERATED_VALUE}",
        "A generated token in the same places.",
        plausible.is_generated_value,
    ),
    SecretRule(
        "flag",
        r"(?i)(?:password|passwd|passphrase|storepass|keypass|token|api-?key"
        rf"|secret|secret-string|authtoken)[ =]\\*[\"']?{_UNQUOTED}",
        "A secret in an option of a command.",
        plausible.is_unquoted_password,
        before=r"(?<![A-Za-z0-9])--?(?i:[a-z]{1,12}-){0,2}",
    ),
)
