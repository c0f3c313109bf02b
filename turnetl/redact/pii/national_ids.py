"""Rules for the numbers that states give to people: announced, or unmistakable; check digits."""

import re
from collections.abc import Callable, Sequence

from turnetl.redact.key_rules import luhn
from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_ODD = "1 0 5 7 9 13 15 17 19 21 2 4 18 20 11 3 6 8 12 14 16 10 22 25 24 23"
_CODICE_ODD = [*map(int, _ODD.split())]
_VERHOEFF_STEP = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
_SSN_EXAMPLES = frozenset({"123456789", "078051120", "219099999", "111223333"})
_NINO_EXCLUDED = frozenset({"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"})


def is_ssn(value: str) -> bool:
    """United States: no check digit, but areas, groups and serials that are never given."""
    digits = _digits(value)
    is_given = digits[:3] not in ("000", "666") and digits[0] != "9"
    return is_given and digits[3:5] != "00" and digits[5:] != "0000" and digits not in _SSN_EXAMPLES


def is_nino(value: str) -> bool:
    """United Kingdom, national insurance: prefixes that are never given."""
    return value[:2].upper() not in _NINO_EXCLUDED


def is_german_tax_id(value: str) -> bool:
    """Germany, `Steuer-ID`: ISO 7064, mod 11, 10; one digit is repeated among the first ten."""
    digits = _numbers(value)
    product = 10
    for digit in digits[:-1]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[-1] and len({*digits[:10]}) < len(digits[:10])


def is_dni(value: str) -> bool:
    """Spain: the letter of a DNI or NIE."""
    text = re.sub("[^0-9A-Z]", "", value.upper())
    number = str("XYZ".index(text[0])) + text[1:-1] if text[0] in "XYZ" else text[:-1]
    return _DNI_LETTERS[int(number) % 23] == text[-1]


def is_aadhaar(value: str) -> bool:
    check = 0
    for position, digit in enumerate(reversed(_numbers(value))):
        check = _dihedral(check, _permuted(digit, position))
    return check == 0 and value[0] not in "01"


def is_cpf(value: str) -> bool:
    """Brazil, person."""
    return _has_check_digits(_numbers(value), [*range(10, 1, -1)])


def is_cnpj(value: str) -> bool:
    """Brazil, company: often of one person."""
    return _has_check_digits(_numbers(value), [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])


def is_sin(value: str) -> bool:
    """Canada: Luhn's formula."""
    digits = _digits(value)
    return luhn(digits) and digits[0] not in "08"


def is_nir(value: str) -> bool:
    """France: 13 digits, of which Corsica has letters, and 97 minus their remainder."""
    text = value.replace(" ", "").upper().replace("2A", "19").replace("2B", "18")
    return text.isdigit() and 97 - int(text[:13]) % 97 == int(text[13:])


def is_codice_fiscale(value: str) -> bool:
    """Italy: a check letter."""
    text = value.upper()
    places = [int(character) if character.isdigit() else ord(character) - 65 for character in text]
    odd = sum(_CODICE_ODD[place] for place in places[:15:2])
    return (odd + sum(places[1:15:2])) % 26 == places[15]


def is_bsn(value: str) -> bool:
    """Netherlands: weights 9 to 2, and minus 1."""
    return _weighted(_numbers(value), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 == 0


def is_pesel(value: str) -> bool:
    """Poland: weights 1, 3, 7, 9."""
    return _weighted(_numbers(value), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 == 0


def _digits(value: str) -> str:
    return re.sub("[^0-9]", "", value)


def _numbers(value: str) -> list[int]:
    return [*map(int, _digits(value))]


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True))


def _has_check_digits(digits: list[int], weights: list[int]) -> bool:
    """Brazil: two check digits; the second has the first as a digit, with a higher weight."""
    size = len(weights)
    first = _mod_11(digits[:size], weights)
    second = _mod_11(digits[: size + 1], [weights[0] + 1, *weights])
    return digits[size:] == [first, second] and len({*digits}) > 1


def _mod_11(digits: Sequence[int], weights: Sequence[int]) -> int:
    remainder = _weighted(digits, weights) % 11
    return 0 if remainder < 2 else 11 - remainder  # noqa: PLR2004 - the rule of the formula


def _dihedral(first: int, second: int) -> int:
    """Return the product of two elements of the dihedral group of ten."""
    if first < 5:  # noqa: PLR2004 - rotations
        return (first + second) % 5 + (5 if second >= 5 else 0)  # noqa: PLR2004
    return (first - second) % 5 + (0 if second >= 5 else 5)  # noqa: PLR2004


def _permuted(digit: int, times: int) -> int:
    for _ in range(times % 8):
        digit = _VERHOEFF_STEP[digit]
    return digit


_START = r"(?:(?<![\w./+-])|(?<=\\[nrt]))(?<!=[\"'])"
_END = r"(?![\w-]|[./][0-9])"
_BETWEEN = (
    r"(?!\()[^0-9A-Za-z\n]{1,6}"
    r"(?:(?:is|no|nr|number|nummer|id|num|numero|#)[^0-9A-Za-z\n]{1,6}){0,2}"
)


def _announced(
    words: str, number: str, description: str, check: Callable[[str], bool]
) -> SecretRule:
    pattern = rf"(?i)(?<![A-Za-z])(?:{words}){_BETWEEN}({number}){_END}"
    return SecretRule("national-id", pattern, description, check)


def _unmistakable(number: str, description: str, check: Callable[[str], bool]) -> SecretRule:
    return SecretRule("national-id", rf"{_START}({number}){_END}", description, check)


_NINO = r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"

NATIONAL_IDS = PiiSubject(
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}|[A-Z]{2} [0-9]{2} [0-9]{2} [0-9]{2} [A-D]"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-"
    r"|[0-9]{2}\.[0-9]{3}\.[0-9]{3}/|[A-Za-z]{6}[0-9]{2}[A-Za-z][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]"
    r"|[12] [0-9]{2} [01][0-9] [0-9]|(?i:ssn|social.?security|nino|\bni n|insurance|steuer|idnr"
    r"|\bdni|\bnie\b|aadhaar|aadhar|uidai|\bcpf|cnpj|\bsin\b|social.?insurance|\bnir\b"
    r"|s.curit. sociale|\bbsn\b|pesel|tax.?id)",
    (
        _unmistakable("[0-9]{3}-[0-9]{2}-[0-9]{4}", "United States.", is_ssn),
        _announced(
            "ssn|social[ _-]?security",
            "[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}",
            "United States.",
            is_ssn,
        ),
        _unmistakable(
            rf"{_NINO}[ ][0-9]{{2}}[ ][0-9]{{2}}[ ][0-9]{{2}}[ ][A-D]", "United Kingdom.", is_nino
        ),
        _announced(
            "nino|ni|national[ _-]?insurance",
            rf"{_NINO}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[A-D]",
            "United Kingdom.",
            is_nino,
        ),
        _announced(
            r"steuer-?[ ]?id(?:entifikationsnummer)?|steuerliche[ ]identifikationsnummer|idnr"
            r"|tax[ _-]?id",
            "[1-9][0-9][ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{3}",
            "Germany.",
            is_german_tax_id,
        ),
        _announced("dni|nie|nif", "(?:[0-9]{8}|[XYZ][ -]?[0-9]{7})[ -]?[A-Z]", "Spain.", is_dni),
        _announced(
            "aadhaa?r|uidai", "[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", "India.", is_aadhaar
        ),
        _unmistakable(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", "Brazil.", is_cpf),
        _announced("cpf", "[0-9]{11}", "Brazil.", is_cpf),
        _unmistakable(
            r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}", "Brazil, companies.", is_cnpj
        ),
        _announced("cnpj", "[0-9]{14}", "Brazil, companies.", is_cnpj),
        _announced(
            "sin|social[ _-]?insurance",
            "[1-79][0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}",
            "Canada.",
            is_sin,
        ),
        _unmistakable(
            "[12][ ][0-9]{2}[ ][01][0-9][ ][0-9][0-9AB][ ][0-9]{3}[ ][0-9]{3}[ ][0-9]{2}",
            "France.",
            is_nir,
        ),
        _announced(
            r"nir|s[\w\x80-\xff]{1,3}curit[\w\x80-\xff]{1,3}[ ]sociale|insee",
            "[12][0-9]{4}[0-9AB]{2}[0-9]{6}[0-9]{2}",
            "France.",
            is_nir,
        ),
        _unmistakable(
            "[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", "Italy.", is_codice_fiscale
        ),
        _announced("bsn|burgerservice", "[0-9]{9}", "Netherlands.", is_bsn),
        _announced("pesel", "[0-9]{11}", "Poland.", is_pesel),
    ),
)
