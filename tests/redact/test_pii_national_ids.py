"""Numbers that states give to people. The numbers are made when the tests run."""

import random
from collections.abc import Callable

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted
from turnetl.redact.pii import national_ids

NUMBERS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "SSN": ("ddd-dd-dddd", national_ids.is_ssn),
    "CPF": ("ddd.ddd.ddd-dd", national_ids.is_cpf),
    "CNPJ": ("dd.ddd.ddd/dddd-dd", national_ids.is_cnpj),
    "NIR": ("1 dd 0d dd ddd ddd dd", national_ids.is_nir),
    "NINO": ("AB dd dd dd C", national_ids.is_nino),
    "codice fiscale": ("RSSMRAddEddHdddU", national_ids.is_codice_fiscale),
}
ANNOUNCED: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ssn: {}": ("ddddddddd", national_ids.is_ssn),
    '{"social_security": "{}"}': ("ddd dd dddd", national_ids.is_ssn),
    "NI number: {}": ("ABddddddC", national_ids.is_nino),
    "Steuer-ID: {}": ("6d ddd ddd ddd", national_ids.is_german_tax_id),
    "DNI {}": ("ddddddddZ", national_ids.is_dni),
    "NIE: {}": ("XdddddddL", national_ids.is_dni),
    "Aadhaar number is {}": ("5ddd dddd dddd", national_ids.is_aadhaar),
    "cpf={}": ("ddddddddddd", national_ids.is_cpf),
    "SIN: {}": ("4dd ddd ddd", national_ids.is_sin),
    "BSN: {}": ("ddddddddd", national_ids.is_bsn),
    "PESEL {}": ("ddddddddddd", national_ids.is_pesel),
}
KNOWN_VALID = {
    "86095742719": national_ids.is_german_tax_id,
    "12345678Z": national_ids.is_dni,
    "X1234567L": national_ids.is_dni,
    "234123412346": national_ids.is_aadhaar,
    "529.982.247-25": national_ids.is_cpf,
    "11.222.333/0001-81": national_ids.is_cnpj,
    "130 692 544": national_ids.is_sin,
    "255081416802538": national_ids.is_nir,
    "RSSMRA85T10A562S": national_ids.is_codice_fiscale,
    "111222333": national_ids.is_bsn,
    "44051401359": national_ids.is_pesel,
}


def drawn(shape: str, is_valid: Callable[[str], bool]) -> str:
    """Return a number of this shape with the right check digits."""
    while True:
        text = "".join(random.choice("0123456789") if c == "d" else c for c in shape)
        if is_valid(text):
            return text


@pytest.mark.parametrize("number", KNOWN_VALID)
def test_published_examples_have_the_right_check_digits_and_their_neighbours_not(
    number: str,
) -> None:
    is_valid = KNOWN_VALID[number]
    last = max(index for index, character in enumerate(number) if character.isdigit())
    wrong = str((int(number[last]) + 1) % 10)
    assert is_valid(number)
    assert not is_valid(number[:last] + wrong + number[last + 1 :])


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    "place", ["{}", "it is {}.", '"{}"', "| {} |", "a,{},b", "\x1b[32m{}\x1b[m"]
)
def test_numbers_in_an_unmistakable_form_are_redacted(kind: str, place: str) -> None:
    number = drawn(*NUMBERS[kind])
    assert_redacted(place.replace("{}", f"«national-id:{number}»"))


@pytest.mark.parametrize("text", ANNOUNCED)
def test_announced_numbers_are_redacted(text: str) -> None:
    number = drawn(*ANNOUNCED[text])
    assert_redacted(text.replace("{}", f"«national-id:{number}»"))


@pytest.mark.parametrize(
    "text",
    [
        "123-45-6789 000-12-3456 666-12-3456 987-65-4321 2024-01-0234 nr 555-12-34567",
        "id 86095742719 count 12345678 12345678Z X1234567L 2341 2341 2346",
        "111.111.111-11 529.982.247-26 sin(130692544) cos 130692544",
        "ssn: string, the SSN field, dni?: number, national insurance number",
        "AB123456C GB 12 34 56 A commit 12345678a",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479 2026-11-24 10:00:00",
    ],
)
def test_numbers_that_nothing_announces_stay(text: str) -> None:
    assert_kept(text)
