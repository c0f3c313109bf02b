"""Rules for phone numbers: international ones, and national ones that are announced."""

import re

from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

_REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "NL",
    "CH",
    "AT",
    "IN",
    "BR",
    "AU",
    "JP",
    "PL",
    "SE",
)
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
    r"|call|text[ ]me[ ]at"
    r"|telefon|telefonnummer|handy|mobil|mobilnummer|rufnummer|t\xc3\xa9l|t\xc3\xa9l\xc3\xa9phone"
    r"|portable"
    r"|tel\xc3\xa9fono|m\xc3\xb3vil|celular|telefone|telefono|cellulare|telefoon|mobiel"
)


def is_international(value: str) -> bool:
    """Return whether a number with `+` and the code of a country exists."""
    return _exists(value, None)


def is_national(value: str) -> bool:
    """Return whether an announced number exists in one of the regions."""
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
    r"|portable"
    r"|m\x{f3}vil|celular)[^\n]{0,30}[0-9]",
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
