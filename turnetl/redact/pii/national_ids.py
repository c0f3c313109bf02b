"""Rules for the numbers that states give to people: announced, or in an unmistakable form."""

from collections.abc import Callable

from turnetl.redact.pii import check_digits
from turnetl.redact.pii.subject import PiiSubject
from turnetl.redact.rule import SecretRule

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
    r"|\bdni|\bnie\b|aadhaar"
    r"|aadhar|uidai|\bcpf|cnpj|\bsin\b|social.?insurance|\bnir\b|s.curit. sociale|\bbsn\b|pesel"
    r"|tax.?id)",
    (
        _unmistakable("[0-9]{3}-[0-9]{2}-[0-9]{4}", "United States.", check_digits.is_ssn),
        _announced(
            "ssn|social[ _-]?security",
            "[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}",
            "United States.",
            check_digits.is_ssn,
        ),
        _unmistakable(
            rf"{_NINO}[ ][0-9]{{2}}[ ][0-9]{{2}}[ ][0-9]{{2}}[ ][A-D]",
            "United Kingdom.",
            check_digits.is_nino,
        ),
        _announced(
            "nino|ni|national[ _-]?insurance",
            rf"{_NINO}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[A-D]",
            "United Kingdom.",
            check_digits.is_nino,
        ),
        _announced(
            r"steuer-?[ ]?id(?:entifikationsnummer)?|steuerliche[ ]identifikationsnummer|idnr"
            r"|tax[ _-]?id",
            "[1-9][0-9][ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{3}",
            "Germany.",
            check_digits.is_german_tax_id,
        ),
        _announced(
            "dni|nie|nif",
            "(?:[0-9]{8}|[XYZ][ -]?[0-9]{7})[ -]?[A-Z]",
            "Spain.",
            check_digits.is_dni,
        ),
        _announced(
            "aadhaa?r|uidai",
            "[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}",
            "India.",
            check_digits.is_aadhaar,
        ),
        _unmistakable(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", "Brazil.", check_digits.is_cpf),
        _announced("cpf", "[0-9]{11}", "Brazil.", check_digits.is_cpf),
        _unmistakable(
            r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}",
            "Brazil, companies.",
            check_digits.is_cnpj,
        ),
        _announced("cnpj", "[0-9]{14}", "Brazil, companies.", check_digits.is_cnpj),
        _announced(
            "sin|social[ _-]?insurance",
            "[1-79][0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}",
            "Canada.",
            check_digits.is_sin,
        ),
        _unmistakable(
            "[12][ ][0-9]{2}[ ][01][0-9][ ][0-9][0-9AB][ ][0-9]{3}[ ][0-9]{3}[ ][0-9]{2}",
            "France.",
            check_digits.is_nir,
        ),
        _announced(
            r"nir|s[\w\x80-\xff]{1,3}curit[\w\x80-\xff]{1,3}[ ]sociale|insee",
            "[12][0-9]{4}[0-9AB]{2}[0-9]{6}[0-9]{2}",
            "France.",
            check_digits.is_nir,
        ),
        _unmistakable(
            "[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]",
            "Italy.",
            check_digits.is_codice_fiscale,
        ),
        _announced("bsn|burgerservice", "[0-9]{9}", "Netherlands.", check_digits.is_bsn),
        _announced("pesel", "[0-9]{11}", "Poland.", check_digits.is_pesel),
    ),
)
