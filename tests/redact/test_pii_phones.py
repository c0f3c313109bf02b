"""Phone numbers: the library's examples, which exist and belong to nobody."""

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from tests.redact.pii_texts import assert_kept, assert_redacted

REGIONS = ("DE", "GB", "FR", "ES", "IN", "BR", "JP", "AU")


def example(region: str, form: int) -> str:
    number = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    assert number is not None
    return phonenumbers.format_number(number, form)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("text", ["call {} now", "tel:{}", '"phone": "{}"', "({})", "x\n{}\n"])
def test_international_numbers_are_redacted(region: str, text: str) -> None:
    for form in (PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL):
        assert_redacted(text.replace("{}", f"«phone:{example(region, form)}»"))


@pytest.mark.parametrize("region", ["DE", "GB", "FR", "ES", "IN"])
@pytest.mark.parametrize("text", ["phone: {}", "Tel. {}", "mobile number is {}", "Handy: {}!"])
def test_announced_national_numbers_are_redacted(region: str, text: str) -> None:
    number = example(region, PhoneNumberFormat.NATIONAL)
    assert_redacted(text.replace("{}", f"«phone:{number}»"))


@pytest.mark.parametrize("text", ["ring {}", "{},", "| {} |"])
def test_numbers_as_north_america_writes_them_are_redacted(text: str) -> None:
    for number in ("(212) 736-5000", "212-736-5000"):
        assert_redacted(text.replace("{}", f"«phone:{number}»"))


@pytest.mark.parametrize(
    "text",
    [
        "ts 1700000000 1700000000123 id 4915123456789 sha 2127365000",
        "2026-01-02T10:00:00+0100 +100.5 +12345678 a+4915123456789",
        "diff\n+1732123456\n+1700000000123\n+1,2",
        "212-555-0123 (212) 555-0199 +1 212 555 0123 123-456-7890 +1 111 111 1111",
        "phone: string, tel: null, mobile-first 2024, cell 12345678, call(1234567890)",
        "signal 11, SMS 160 characters, fax: none, 1.2.3.4567",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479 0123456789abcdef 212-736-5000-1",
        "lines +120,+345 @@ -1,6 +1,10 @@ x += 1234567890",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert_kept(text)
