"""Names without differences that a filter ignores: of case, and of how accents are encoded."""

import unicodedata


def fold(name: str) -> str:
    """Return a name in the form in which names are compared.

    That is Unicode's case folding of the composed text, composed again: `Straße` is `STRASSE`, and
    `é` is `e` with an accent. No language is assumed: `I` is `i`, as in English, and the Turkish
    letters with and without a dot remain letters of their own.
    """
    folded = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", folded)
