"""Rules for phone numbers, international or announced, and for e-mail addresses in any notation."""

import re

from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

_CODES = "US GB DE FR ES IT NL CH AT IN BR AU JP PL SE"
_REGIONS = tuple(_CODES.split())
"""Regions whose national numbers are recognised, if a word announces them."""
_FICTION = re.compile(r"555-?01[0-9]{2}\Z")
"""The last digits of numbers for films and examples in North America."""
_DIGITS = re.compile(r"[^0-9]")
_MIN_DISTINCT = 4
"""Different digits of a number: examples such as `+1 111 111 1111` have fewer."""
_SEQUENCE = "01234567890"

_GAP = r"(?:[ .()/-]|\xc2\xa0|\xe2\x80\x91){0,3}"
_INTERNATIONAL = rf"\+[1-9](?:{_GAP}[0-9]){{7,14}}"
_NATIONAL = rf"\(?[0-9](?:{_GAP}[0-9]){{6,13}}"
_START = r"(?:(?<![\w+/=.-])|(?<=\\[nrt]))"
_END = r"(?![0-9A-Za-z_]|[.:/-][0-9A-Za-z])"
_WORDS = (
    r"phone|telephone|tel|mobile|cell|cellphone|fax|whatsapp|signal|sms|call[ ]me[ ](?:at|on)"
    r"|call|text[ ]me[ ]at|telefon|telefonnummer|handy|mobil|mobilnummer|rufnummer|t\xc3\xa9l"
    r"|t\xc3\xa9l\xc3\xa9phone|portable"
    r"|tel\xc3\xa9fono|m\xc3\xb3vil|celular|telefone|telefono|cellulare|telefoon|mobiel"
)


def is_international(value: str) -> bool:
    return _exists(value, None)


def is_national(value: str) -> bool:
    international = f"+{value.strip()[2:]}" if value.strip().startswith("00") else None
    if international is not None and _exists(international, None):
        return True
    return any(_exists(value, region) for region in _REGIONS)


def is_north_american(value: str) -> bool:
    return _exists(value, "US")


def _exists(value: str, region: str | None) -> bool:
    import phonenumbers  # noqa: PLC0415 - only with a candidate

    digits = _DIGITS.sub("", value)
    if len({*digits}) < _MIN_DISTINCT or _FICTION.search(digits) or digits in _SEQUENCE:
        return False
    try:
        number = phonenumbers.parse(value, region)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(number))


PHONES = PiiSubject(
    r"\+[1-9][0-9 .()/-]{6}|\(?[0-9]{3}\)?[ .-][0-9]{3}[.-][0-9]{4}"
    r"|(?i:phone|tel|mobil|cell|fax|whatsapp|signal|sms|call|text me|handy|rufnummer|t\x{e9}l"
    r"|portable|m\x{f3}vil|celular)[^\n]{0,30}[0-9]",
    (
        SecretRule(
            "phone",
            rf"{_START}({_INTERNATIONAL}){_END}",
            "With the code of a country.",
            is_international,
        ),
        SecretRule(
            "phone",
            rf"(?i)(?<![A-Za-z])(?:{_WORDS})(?:[ _-]?(?:number|nr|no|num))?[^0-9A-Za-z\n+(]{{1,6}}"
            rf"(?:(?:is|ist|est|es|at|on|number)[ :]{{1,3}}){{0,2}}({_NATIONAL}){_END}",
            "A national number after a word that announces it.",
            is_national,
        ),
        SecretRule(
            "phone",
            rf"{_START}(\([2-9][0-9]{{2}}\)[ ]?[2-9][0-9]{{2}}-[0-9]{{4}}"
            rf"|[2-9][0-9]{{2}}-[2-9][0-9]{{2}}-[0-9]{{4}}){_END}",
            "As North America writes it.",
            is_north_american,
        ),
    ),
)


_LOCAL_CHAR = rb"(?:[0-9a-f]{4}u\\|[A-Za-z0-9._%+-]|[\x80-\xbf][\xc3-\xd4])"
_REVERSED_LOCAL_PART = (
    rb"%s{1,64}?(?:(?=[nrt]\\|m[0-9;]{0,12}\[(?:\x1b|b[1I]00u\\|b1x\\|330\\|e\\))|(?!%s))|(?:[\x80-\xbf]{2}[\xe3-\xed]){1,4}"
    rb"|\"[^\"\\\r\n<>@,;:]{1,64}\"(?=\A|[\s<(:,=]|\Z)" % (_LOCAL_CHAR, _LOCAL_CHAR)
)
"""The local part before the `@`, reversed: Latin, Greek and Cyrillic letters, also escaped in JSON,
but not the `n` of an escaped newline; or a few Chinese, Japanese or Korean characters, no more than
a name has, because no spaces separate words; or anything in quotes."""
_LETTER = r"(?:[A-Za-z]|[\xc3-\xd4][\x80-\xbf])"
_CJK = r"(?:\xe3[\x81-\xbf][\x80-\xbf]|[\xe4-\xed][\x80-\xbf]{2})"
_LABEL = (
    rf"(?:{_LETTER}|[0-9])(?:(?:{_LETTER}|[0-9-]){{0,61}}(?:{_LETTER}|[0-9]))?"
    rf"|{_CJK}(?:{_CJK}|[A-Za-z0-9-]){{0,20}}"
)
_CJK_NAMES = "中国 中國 公司 网络 网址 商城 在线 香港 台湾 台灣 新加坡 みんな コム 한국 닷컴"
_CJK_TOP = "|".join(
    "".join(rf"\x{byte:02x}" for byte in name.encode()) for name in _CJK_NAMES.split()
)
"""Top-level domains without spaces around them, in texts without spaces."""
_TOP = rf"(?:xn--[A-Za-z0-9-]{{2,59}}|{_LETTER}{{2,24}}|{_CJK_TOP})"
_DOMAIN = rf"(?:(?:{_LABEL})\.){{1,6}}{_TOP}(?![A-Za-z0-9(]|-[A-Za-z0-9])"
_COMMON_TOP = (
    r"(?i:com|org|net|edu|gov|info|dev|io|ai|app|me|eu|de|at|ch|uk|fr|it|es|nl|be|se|no|fi|dk|pl|cz"
    r"|pt|ru|ua|br|mx|ar|in|cn|jp|kr|au|nz|ca|us|tv|xyz)"
)
_WORD_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,40}[A-Za-z0-9])?"
_DOT = r"(?:[ ]{0,2}[\[({<][ ]?(?i:dot)[ ]?[\])}>][ ]{0,2}|[ ](?i:dot)[ ]|\.)"
_BRACKETED_AT = r"[ ]{0,2}[\[({<][ ]?(?i:at|@)[ ]?[\])}>][ ]{0,2}"

_SHARED_MAILBOXES = frozenset({"git", "hg", "svn", "noreply", "no-reply", "donotreply"})
_EXAMPLE_DOMAINS = (
    *("example", "test", "invalid", "localhost"),
    *("example.com", "example.org", "example.net", "test.com", "domain.com", "mydomain.com"),
    *("yourdomain.com", "your-domain.com", "yourcompany.com", "your-company.com"),
)
_NO_TOP_LEVEL = frozenset(
    {"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "js", "ts", "css", "tsx", "jsx"}
    | {"service", "socket", "timer", "target", "mount", "slice", "scope", "py", "html", "json"}
)
"""Suffixes of names of files and units: `logo@2x.png`, `getty@tty.service`."""
_AT = re.compile("=40|&commat;|%2540")
_RELEASE = re.compile(r"v?[0-9]+(?:\.|x\.)")
"""The start of a version: `react@18.3.0-canary.b`."""
_EMAIL_WORDS = """
    look looking meet available hosted host is are was be me it us them out up find found see
    contact mail email arrive live work working read reach write available documentation docs
"""
_NOT_LOCAL = frozenset(_EMAIL_WORDS.split())
"""Words before `at shop dot com` that are no mailbox."""


def _is_mailbox(value: str) -> bool:
    local, _, domain = _AT.sub("@", value.lower()).rpartition("@")
    if not local or local in _SHARED_MAILBOXES or domain.rpartition(".")[2] in _NO_TOP_LEVEL:
        return False
    if _RELEASE.match(domain):
        return False
    return not _is_example(domain)


def _is_spelled_mailbox(value: str) -> bool:
    local, *rest = re.split(r"[^\w.+-]+", value.lower())
    domain = ".".join(word for word in rest if word not in ("at", "dot", ""))
    return local not in _NOT_LOCAL | _SHARED_MAILBOXES and not _is_example(domain)


def _is_example(domain: str) -> bool:
    return any(domain == name or domain.endswith(f".{name}") for name in _EXAMPLE_DOMAINS)


EMAILS = PiiSubject(
    r"(?:@|%(?:25)?40|&(?:amp;)?(?:#0{0,3}64|#[xX]0{0,2}40|commat);|\\u0040|\\x40|=40)"
    r"(?:[\p{L}0-9-]|%|\\u)|(?i:[\[({<] ?(?:at|dot|@) ?[\])}>]| at [a-z0-9-]+ dot )",
    (
        SecretRule(
            "email",
            rf"(@{_DOMAIN})",
            "The e-mail address of a person.",
            _is_mailbox,
            reversed_prefix=_REVERSED_LOCAL_PART,
        ),
        SecretRule(
            "email",
            rf"(?:(?<![\w.=%+-])|(?<=%25(?:3[dD]|2[fF])))([A-Za-z][\w.+-]{{0,63}}(?:=40|&commat;"
            rf"|%2540)(?:{_WORD_LABEL}\.){{1,4}}{_COMMON_TOP})(?![\w(-])",
            "In quoted-printable, HTML and URLs within URLs.",
            _is_mailbox,
        ),
        SecretRule(
            "email",
            rf"(?<![\w.+-])([A-Za-z0-9][\w.+-]{{0,63}}"
            rf"(?:{_BRACKETED_AT}(?:{_WORD_LABEL}{_DOT}){{1,3}}|[ ](?i:at)[ ](?:{_WORD_LABEL}"
            rf"[ ](?i:dot)[ ]){{1,3}}){_COMMON_TOP})(?![\w-])",
            "Written in words: `name at domain dot com`.",
            _is_spelled_mailbox,
        ),
    ),
)
