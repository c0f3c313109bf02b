"""Checks whether a value that a syntax announces can be a password that a person chose.

It may look like anything but a reference, a placeholder, a type, a policy, a label or a call.
"""

import re
from functools import partial

from turnetl.redact import plausible
from turnetl.redact.rule import SecretRule, late_pattern
from turnetl.redact.vocabulary import words

_MIN_CHARS = 4
_MAX_WORDS = 10
"""Words of a passphrase: a longer value is a sentence."""


def is_chosen(value: str) -> bool:
    """Return whether a value in quotes can be a chosen password, also one with spaces."""
    value = value.strip().rstrip(":")
    if len(value) < _MIN_CHARS or _is_placeholder(value) or _NO_VALUE.search(value):
        return False
    if " " in value:
        return _is_phrase(value)
    return not (_is_word_of_code(value) or _is_label(value))


def is_chosen_in_two(value: str) -> bool:
    """Return whether a value in quotes that two newlines split can be."""
    return is_chosen("".join(value.split("\n")).replace("\r", ""))


def is_chosen_word(value: str) -> bool:
    """Return whether a value without quotes can be: code has references in such a place."""
    word = value.rstrip(".,:;)]}!")
    return (
        not _is_placeholder(value)
        and is_chosen(word)
        and not (_is_reference(word) or _CALL.match(value))
    )


def is_chosen_line(value: str) -> bool:
    """Return whether the rest of a line can be: one word, or words that form no sentence."""
    value = value.strip().rstrip(".,;")
    if " " not in value:
        return is_chosen_word(value)
    return is_chosen(value) and not _CODE.search(value)


def is_cell(value: str) -> bool:
    """Return whether the cell of a table can be: no state, and no name of another column."""
    word = value.strip(" `*\"'").lower()
    return is_chosen_line(value) and not _is_state(word) and word not in COLUMNS


def _is_state(word: str) -> bool:
    return word in STATES or (word.isalpha() and word.endswith(STATE_ENDINGS))


def is_chosen_argument(value: str) -> bool:
    """Return whether an argument of a command can be: it is no reference but by a sign."""
    word = value.lower().rstrip(".,:;)")
    is_word = word in STATES or word in PROSE or word in OPTION_WORDS
    is_metavariable = value.isupper() and value.replace("_", "").isalpha()
    return is_chosen(value) and not (_OPTION.match(value) or is_word or is_metavariable)


def is_password_option(value: str) -> bool:
    """Return whether the argument of `-p` can be a password: it also has ports and folders."""
    is_other = _PORT.fullmatch(value) or plausible.is_path(value) or plausible.is_attribute(value)
    return is_chosen_argument(value) and not is_other


_PORT = late_pattern("[0-9]{1,5}(?:[:/][0-9a-z]{1,5})*|[a-z]+:.*")


def is_said(value: str) -> bool:
    """Return whether a word after `the password is` can be: it says nothing about a password."""
    word = value.strip("`'\"").rstrip(".,:;!)").lower()
    return is_chosen_word(value) and not _is_state(word)


def is_said_within(value: str) -> bool:
    """Like `is_said`, before more words: `with password authentication in the next step`."""
    return is_said(value) and value.lower() not in COMPOUNDS


def is_told(value: str) -> bool:
    """Return whether a word after the name of a password can be one: digits and letters, a sign."""
    word = value.strip("`'\"*").rstrip(".,:;!?)")
    has_digits, has_letters = any(map(str.isdigit, word)), any(map(str.isalpha, word))
    is_mixed = has_digits and has_letters and len(word) >= _MIN_TOLD and not _TECHNICAL.match(word)
    is_number = has_digits and not has_letters and _NUMBER.fullmatch(word) is not None
    has_sign = (has_digits or has_letters) and _TOLD_SIGNS.search(word) is not None
    return (
        is_said_within(word)
        and not _NAME_OR_PAIR.search(word)
        and not plausible.is_attribute(word)
        and (is_mixed or is_number or has_sign or _is_drawn_without_digits(word))
    )


def is_told_at_end(value: str) -> bool:
    """Return whether what follows `with the password` can be one, at the end of a sentence."""
    return is_told(value) or (is_said_within(value) and not _NAME_OR_PAIR.search(value))


def is_told_or_number(value: str) -> bool:
    """Return whether a word before the name of a password can be one, or a number of a code."""
    digits = value.replace("-", "").replace(" ", "")
    return is_anything_chosen(digits) if digits.isdigit() else is_told(value)


def is_encoded(value: str) -> bool:
    """Return whether base64 can hold a secret: one word, or a user and a password."""
    text = plausible.decoded(value)
    return text is not None and " " not in text and is_chosen_word(text.partition(":")[2] or text)


def is_piped(value: str) -> bool:
    """Return whether what is piped into a command can be a secret, plain or in base64."""
    return is_told(value) or is_encoded(value)


def is_anything_chosen(value: str) -> bool:
    return len(set(value)) > 1


def is_key(value: str) -> bool:
    """Return whether what follows the name of a key or a token, on one line, was drawn."""
    letters = "".join(filter(str.isalpha, value))
    is_name = (
        plausible.is_attribute(value)
        or _WORDS_AND_NUMBERS.fullmatch(value)
        or len(letters) > _MAX_PIECE * len(_PIECES.findall(value))
    )
    return len(value) >= _MIN_KEY and plausible.is_token(value) and not is_name


quoted_rule = partial(SecretRule, "password", plausible=is_chosen)
word_rule = partial(SecretRule, "password", plausible=is_chosen_word)
line_rule = partial(SecretRule, "password", plausible=is_chosen_line)
said_rule = partial(SecretRule, "password", plausible=is_said)
told_rule = partial(SecretRule, "password", plausible=is_told)
told_at_end_rule = partial(SecretRule, "password", plausible=is_told_at_end)
"""Rules for passwords at the places that the checks are for."""
_MIN_TOLD, _MIN_KEY = 6, 12
_TECHNICAL = late_pattern(
    r"(?i:sha|md|utf|base|aes|rsa|oauth|argon|http|ipv|ed|bcrypt|pbkdf|python|v|win|k|s|es|rs|hs"
    r"|x)-?[0-9]{1,4}(?:[a-z]{1,3}|[._-].*)?\Z|[a-z]{3,}[0-9]\Z|[0-9]{1,3}[a-z]+\Z"
    r"|[0-9]+[-/.:][0-9].*\Z|.*\.[a-z]{1,4}\Z"
)
_NAME_OR_PAIR = late_pattern(r"=|[a-z0-9]+(?:_[a-z0-9]+){2,}\Z|/")
_NUMBER = late_pattern("[0-9]{5,12}")
_TOLD_SIGNS = late_pattern(r"[A-Za-z0-9][!#%^*~+@]|[!#%^*~+@][A-Za-z0-9]")
_WORDS_AND_NUMBERS = late_pattern(
    r"(?:[a-z]+|[0-9]{1,8}|v[0-9]+)(?:[-_.](?:[a-z]+|[0-9]{1,8}|v[0-9]+))*"
)


def is_secret_word(value: str) -> bool:
    """Return whether a value without quotes after the name of a key or a token can be one."""
    return plausible.is_token(value) or _is_drawn_without_digits(value)


def is_secret_value(value: str) -> bool:
    """Like `is_secret_word`, or a word with digits and a mark, as a person chooses it."""
    return is_secret_word(value) or is_marked(value)


def is_drawn_or_marked(value: str) -> bool:
    return is_drawn(value) or is_marked(value)


def is_key_or_marked(value: str) -> bool:
    return is_key(value) or is_marked(value)


def is_marked(value: str) -> bool:
    """Return whether a value joins a word and digits by a mark: `Tulpe!42812tul`.

    Names join them by dashes, full stops and `@` too, in one case or without letters at the end.
    """
    word = value.strip("\"'`").rstrip(".,:;)]}")
    if not _MIN_MARKED <= len(word) <= _MAX_MARKED:
        return False
    has_cases = word.lower() != word != word.upper() and sum(map(str.isdigit, word)) >= _MIN_DIGITS
    has_mark = has_cases and _MARKS.search(word) is not None and "#L" not in word
    is_name = _NAME_OR_PAIR.search(word) is not None or _has_name_of_password(word)
    return is_chosen_word(word) and (has_mark or _JOINED.match(word) is not None) and not is_name


_MIN_MARKED, _MAX_MARKED, _MIN_DIGITS = 8, 64, 3
_MARKS = late_pattern(r"[^\W_][!#%^~$&][^\W_]|[^\W_][!%^~$&]\Z")
_JOINED = late_pattern(
    r"[^\W\d_]{3,}[!#%^~$&@]+[0-9]{3,}[^\W\d_]+\Z"
    r"|(?![a-z])[^\W\d_]{3,}[-_.][0-9]{4,}(?!(?:bits?|px|[mun]?s|[kmgt]i?b|th|st|nd|rd|x|Z)\Z)[^\W\d_]+\Z"
)


def is_cookie(value: str) -> bool:
    parts = value[:_MAX_COOKIE_CHARS].split(";")
    return any(is_secret_word(part.partition("=")[2].strip()) for part in parts)


def _is_drawn_without_digits(value: str) -> bool:
    """Return whether letters, or letters and signs that names do not have, were drawn."""
    letters = "".join(filter(str.isalpha, value))
    if not letters.isascii() or any(map(str.isdigit, value)) or _is_placeholder(value):
        return False
    is_alone = letters == value and len(letters) >= _MIN_DRAWN_WORD
    has_signs = _SIGNS.search(value) is not None and not _CODE.search(value)
    has_short_pieces = len(letters) < len(_PIECES.findall(letters)) * _MAX_DRAWN_PIECE
    return (
        (is_alone or has_signs)
        and len(letters) >= _MIN_DRAWN_LETTERS
        and has_short_pieces
        and not plausible.is_path(value)
    )


_SIGNS = late_pattern(r"[!#%^*~+]")
_MIN_DRAWN_WORD = 14
_MAX_COOKIE_CHARS = 4096
_MAX_DRAWN_PIECE = 2.8


def is_drawn_cell(value: str) -> bool:
    """Like `is_drawn`, in the cell of a table, where code also has names with a number."""
    letters = "".join(filter(str.isalpha, value))
    return is_drawn(value) and len(letters) < max(1, len(_PIECES.findall(value))) * _MAX_PIECE


def is_drawn(value: str) -> bool:
    """Return whether the value of a key or a token was drawn, if only from letters."""
    if value.isalpha() and value.isascii():
        return _is_drawn_from_letters(value) and not _is_placeholder(value)
    is_token = plausible.is_token(value) and not plausible.is_attribute(value)
    return is_token or _is_drawn_without_digits(value)


def _is_drawn_from_letters(value: str) -> bool:
    """Return whether letters were drawn.

    They change the case more often than names do, or have more consonants in a row.
    """
    if len(value) < _MIN_DRAWN_LETTERS or value.isupper():
        return False
    if value.islower():
        return len(value) >= _MIN_DRAWN_LOWER and _UNSPOKEN.search(value) is not None
    max_piece = _MAX_PIECE if len(value) > _SHORT_NAME else _MAX_SHORT_PIECE
    is_unspoken = _UNSPOKEN.search(value) is not None and not value.istitle()
    return len(value) < len(_PIECES.findall(value)) * max_piece or is_unspoken


_PIECES = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_UNSPOKEN = late_pattern("[b-df-hj-np-tv-xz]{5}", re.IGNORECASE)
_MIN_DRAWN_LETTERS, _MIN_DRAWN_LOWER = 10, 20
_SHORT_NAME = 11
_MAX_PIECE, _MAX_SHORT_PIECE = 3.4, 2.7
"""Letters between two changes of case, on average: names have 3.5 and more, drawn values 2.6."""


def _is_placeholder(value: str) -> bool:
    return plausible.is_placeholder(value) or len(set(value)) == 1 or not _ALNUM.search(value)


def _is_phrase(value: str) -> bool:
    parts = [word.strip(".,:;!?'\"()").lower() for word in value.split()]
    has_sentence = any(word in PROSE or word in LABELS for word in parts)
    has_sentence = has_sentence and _DRAWN_WORD.search(value) is None
    is_code = parts[0] in TYPES or _CODE.search(value) is not None
    return len(parts) <= _MAX_WORDS and not has_sentence and not is_code


def _is_word_of_code(value: str) -> bool:
    lower = value.lower()
    return lower in TYPES or lower in LABELS or plausible.is_variable(value)


def _is_label(value: str) -> bool:
    """Return whether the value is the name of a field, as in forms, translations and mappings."""
    return _has_name_of_password(value) and _NAME.match(value) is not None


def _has_name_of_password(value: str) -> bool:
    """Return whether a name of a password is in the value; a short one, at one of its ends."""
    lower = value.lower()
    at_end = lower.startswith(SHORT_NAMES_OF_PASSWORDS) or lower.endswith(SHORT_NAMES_OF_PASSWORDS)
    return at_end or any(name in lower for name in NAMES_OF_PASSWORDS)


def _is_reference(value: str) -> bool:
    if plausible.is_path(value) or plausible.is_attribute(value):
        return True
    if value.lower() in VARIABLES:
        return True
    is_name = _CAMEL.match(value) is not None or _SNAKE.match(value) is not None
    if _has_name_of_password(value) and value.replace("_", "").isalpha():
        return True
    return is_name and not _is_drawn_from_letters(value)


_ALNUM = late_pattern(r"[^\W_]")
_DRAWN_WORD = late_pattern(
    r"(?:^|[ \t])(?=[^ \t]*[0-9])(?=[^ \t]*[A-Za-z])"
    r"[A-Za-z0-9]+(?:[!#%^*~+$]+[A-Za-z0-9]+)+(?:[ \t]|$)"
)
"""A word that no sentence has: `9X!q`."""
_NAME = late_pattern(
    r"(?:[a-z]+(?:[_.-][a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)*)\Z"
)
"""A name of several words: `new_password`, `confirmPassword`; or a label: `Passwort`."""
_CAMEL = late_pattern(r"_?[a-z]+(?:[A-Z]+[a-z]*)+\Z|(?:[A-Z][a-z]+){2,}\Z")
_SNAKE = late_pattern(r"_?[a-z]+(?:_[a-z]+)+\Z|[A-Z]+(?:_[A-Z]+)+\Z")
_CALL = late_pattern(r"[\w.$:]+(?:\(.*\)?|<.*>|(?:\[[\w'\", .]*\]?)+|\?)[,;]?\Z")
"""A call, a type or an index: `hash(password)`, `Option<String>`, `String?`, `row["password"]`."""
_CODE = late_pattern(r"[(){}\[\]<>=;|]|//|\\|&&")
"""Signs that a phrase does not have."""
_NO_VALUE = late_pattern(
    r"[\x00-\x08\x0b-\x1f\x7f]|^(?:\\x[0-9a-f]{2})+$|^(?:[#.][A-Za-z-]+$|//|\[|input\b|[*•.…_-]+$"
    r"|(?:GPIO|IO|PIN|P[A-K])_?[0-9]{1,3}$"
    r"|!(?:vault|Ref|Sub|env|secret)|@)|::"
    r"|(?:required|nullable|confirmed|string)\||\|(?:min|max|string|confirmed)"
    r"|(?:secrets?|env|vars?|process|config|settings)\.|^(?:op|vault|ssm|arn|gs|s3|file|env):"
)
"""Selectors, rules of a form, pins of a chip, and references to a store of secrets."""
_OPTION = late_pattern(r"--?[A-Za-z]|[<>|&]|\d?>")


TYPES = words(
    "str string text bytes byte char varchar nvarchar int integer number bool boolean any "
    "object null none nil undefined void unknown never optional secretstr buffer uint8array "
    "array list dict map vec option path func function callable binary blob uuid date email "
    "password passwordfield charfield stringfield textfield proptypes maybe literal"
)
"""Types of code and of databases."""
LABELS = words(
    "password passwords passwd pwd passphrase passcode secret token passwort kennwort contraseña "
    "contrasena senha wachtwoord hasło пароль mot passe salasana lösenord heslo parola şifre "
    "required optional hidden invalid missing empty blank true false default enabled disabled "
    "changed unchanged incorrect wrong confirm confirmation current forgot reset show hide label "
    "placeholder username user email login plaintext plain encrypted hashed masked sensitive "
    "prompt stdin keyring keychain trust peer md5 scram-sha-256 prohibit-password "
    "without-password again repeat file files compat yes no ask always never auto automatic enter "
    "submit basic digest bearer negotiate oauth oauth2 saml ldap kerberos manual n/a tbd todo "
    "fixme replace_me change_me changeme change-me dummy"
)
"""Labels of fields, states of settings, and placeholders."""
VARIABLES = words(
    "value val raw input data env config settings args opts options self this pass pw pin "
    "hash hashed cipher generated random result res response payload body key name content "
    "param params request req field form state props item entry row line arg var foo bar "
    "secret cred creds credential credentials text lambda"
)
"""Names of variables that often hold a password."""
PROSE = words(
    "a an the is are was were be been being must should shall will would can cannot could may "
    "might do does did not no of to for from with without in on at by as and or but if this "
    "that these those your my our their its it you we they i least most character characters "
    "letters digits enter please field type minimum maximum contain contains repeat change "
    "set get use using used only when then than has have had new old first last too so very "
    "just also der die das ein eine ist nicht muss und oder mit für le la les un une est pas "
    "doit et ou el los es debe y o não deve em com per il non deve het een niet moet"
)
"""Words of a sentence, in the languages of the rules: no passphrase is a sentence."""
STATES = words(
    "a an the not no in on at of to for from with by as and or if this that too so very also "
    "always never only still being set unset here there below above known unknown correct "
    "incorrect right wrong valid invalid empty null blank hidden visible secure insecure weak "
    "strong reset sent kept lost gone safe unsafe fine ok okay good bad different same necessary "
    "mandatory present absent available unavailable short long random static plain yours mine "
    "unique persistent plaintext hardcoded case-sensitive what where when how why which easy hard "
    "read written shown new old back up down out off done due meant given taken chosen broken "
    "forgotten likely probably currently now actually really already yet just simply something "
    "anything nothing one it its my your our their success failure succeeded successful ready "
    "falsch richtig abgelaufen vergessen gesetzt неверный неправильный устарел leer sicher "
    "unsicher notwendig nicht erforderlich pflicht gleich incorrecta correcta errada correta "
    "vacía vazia obligatoria obrigatória vide faux obligatoire juist onjuist leeg verplicht "
    "wymagane nieprawidłowe puste povinné nesprávné prázdné obligatorisk krävs fel påkrævet "
    "forkert pakollinen väärä gerekli zorunlu yanlış kötelező hibás obligatoriu greșită wajib "  # noqa: RUF001
    "diperlukan salah sai requise requis richiesta errata requerida feil felaktigt ugyldig "
    "ugyldigt ogiltigt väärin ongeldig błędne chybné neplatné helytelen érvénytelen geçersiz "
    "hatalı obligatorie necesar incorectă wunsch anfrage anforderung невірний απαιτείται λάθος "  # noqa: RUF001
    "आवश्यक गलत обязателен обязательно"
)
"""Words that follow `the password is` and say something about it."""
COLUMNS = words(
    "role roles host hostname port url uri website site status state notes note comment comments "
    "description details type group groups team created updated modified expires age name value "
    "shell home default location environment region service server database account mail address "
    "passed failed skipped pass fail quota plan owner version rotation scope faster slower"
)
"""Names of columns beside that of a password, and results."""
OPTION_WORDS = words(
    "flag flags option options argument arguments parameter parameters command commands "
    "switch requires field fields param params are"
)
"""Words that follow the name of an option in prose."""
COMPOUNDS = words(
    "authentication auth authorization field form reset reset-flow manager hashing hash policy "
    "protection prompt login access change changes recovery rotation input option validation "
    "entry logic support"
)
"""Words that form a compound with `password`: `with password authentication`."""
_ENDINGS = "ed ing able ible less iert tet ido ida ado ada uta ata uto"
STATE_ENDINGS = tuple(_ENDINGS.split())
"""Endings of participles: `the password is expired`."""
NAMES_OF_PASSWORDS = words(
    "password passwd passwort kennwort passphrase passcode contrase senha wachtwoord hasło пароль "
    "密码 パスワード 비밀번호 secret token credential apikey api_key api-key"
)
"""Names of passwords and other secrets, which labels and references contain."""
SHORT_NAMES_OF_PASSWORDS = ("pwd",)
"""Names so short that a drawn password may contain one."""
