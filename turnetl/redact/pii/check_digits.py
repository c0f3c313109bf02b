"""Check digits of the numbers that states give to people."""

import re
from collections.abc import Sequence

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
    """India: Verhoeff's check digit."""
    check = 0
    for position, digit in enumerate(reversed(_numbers(value))):
        check = _dihedral(check, _permuted(digit, position))
    return check == 0 and value[0] not in "01"


def is_cpf(value: str) -> bool:
    """Brazil, person."""
    digits = _numbers(value)
    first = _mod_11(digits[:9], range(10, 1, -1))
    second = _mod_11(digits[:10], range(11, 1, -1))
    return digits[9:] == [first, second] and len({*digits}) > 1


def is_cnpj(value: str) -> bool:
    """Brazil, company: often of one person."""
    digits = _numbers(value)
    weights = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
    first = _mod_11(digits[:12], weights)
    second = _mod_11(digits[:13], [6, *weights])
    return digits[12:] == [first, second] and len({*digits}) > 1


def is_sin(value: str) -> bool:
    """Canada: Luhn's formula."""
    digits = _numbers(value)
    doubled = [digit * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0 and digits[0] not in (
        0,
        8,
    )


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
    digits = _numbers(value)
    weights = [9, 8, 7, 6, 5, 4, 3, 2, -1]
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 11 == 0


def is_pesel(value: str) -> bool:
    """Poland: weights 1, 3, 7, 9."""
    digits = _numbers(value)
    weights = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 10 == 0


def _digits(value: str) -> str:
    return re.sub("[^0-9]", "", value)


def _numbers(value: str) -> list[int]:
    return [*map(int, _digits(value))]


def _mod_11(digits: Sequence[int], weights: Sequence[int]) -> int:
    remainder = sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 11
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
