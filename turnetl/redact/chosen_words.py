"""Words that are no passwords where a syntax announces one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TYPES = _words(
    "str string text bytes byte char varchar nvarchar int integer number bool boolean any "
    "object null none nil undefined void unknown never optional secretstr buffer uint8array "
    "array list dict map vec option path func function callable binary blob uuid date email "
    "password passwordfield charfield stringfield textfield proptypes maybe literal"
)
"""Types of code and of databases."""
LABELS = _words(
    "password passwords passwd pwd passphrase passcode secret token passwort kennwort "
    "contraseña contrasena senha wachtwoord hasło пароль mot passe salasana lösenord heslo "
    "parola şifre required optional hidden invalid missing empty blank true false default "
    "enabled disabled changed unchanged incorrect wrong confirm confirmation current forgot "
    "reset show hide label placeholder username user email login plaintext plain encrypted "
    "hashed masked sensitive prompt stdin keyring keychain trust peer md5 scram-sha-256 "
    "prohibit-password without-password again repeat file files compat yes no ask always "
    "never auto automatic enter submit "
    "basic digest bearer negotiate oauth oauth2 saml ldap kerberos "
    "manual n/a tbd todo fixme replace_me change_me changeme change-me dummy"
)
"""Labels of fields, states of settings, and placeholders."""
VARIABLES = _words(
    "value val raw input data env config settings args opts options self this pass pw pin "
    "hash hashed cipher generated random result res response payload body key name content "
    "param params request req field form state props item entry row line arg var foo bar "
    "secret cred creds credential credentials text lambda"
)
"""Names of variables that often hold a password."""
PROSE = _words(
    "a an the is are was were be been being must should shall will would can cannot could may "
    "might do does did not no of to for from with without in on at by as and or but if this "
    "that these those your my our their its it you we they i least most character characters "
    "letters digits enter please field type minimum maximum contain contains repeat change "
    "set get use using used only when then than has have had new old first last too so very "
    "just also der die das ein eine ist nicht muss und oder mit für le la les un une est pas "
    "doit et ou el los es debe y o não deve em com per il non deve het een niet moet"
)
"""Words of a sentence, in the languages of the rules: no passphrase is a sentence."""
STATES = _words(
    "a an the not no in on at of to for from with by as and or if this that too so very also "
    "always never only still being set unset here there below above known unknown correct "
    "incorrect right wrong valid invalid empty null blank hidden visible secure insecure weak "
    "strong reset sent kept lost gone safe unsafe fine ok okay good bad different same "
    "necessary mandatory present absent available unavailable short long random static plain "
    "yours mine unique persistent plaintext hardcoded case-sensitive what where when how why "
    "which easy hard read written shown bad new old back up down out off done due meant given "
    "taken chosen broken forgotten likely probably currently now actually really already yet "
    "just simply something anything nothing one it its my your our their success failure "
    "succeeded successful ready falsch richtig abgelaufen vergessen gesetzt неверный "
    "неправильный устарел leer "
    "sicher unsicher notwendig nicht erforderlich pflicht gleich incorrecta correcta errada "
    "correta vacía vazia obligatoria obrigatória incorrect vide faux obligatoire juist "
    "onjuist leeg verplicht wymagane nieprawidłowe puste povinné nesprávné prázdné obligatorisk "
    "krävs fel påkrævet forkert pakollinen väärä gerekli zorunlu yanlış kötelező hibás "  # noqa: RUF001
    "obligatoriu greșită wajib diperlukan salah sai requise requis richiesta errata requerida "
    "feil forkert fel felaktigt ugyldig ugyldigt ogiltigt väärä väärin pakollinen onjuist ongeldig "
    "verplicht nieprawidłowe błędne wymagane nesprávné chybné neplatné povinné hibás helytelen "
    "kötelező érvénytelen geçersiz yanlış zorunlu gerekli hatalı obligatorie obligatoriu necesar "  # noqa: RUF001
    "incorectă wunsch anfrage anforderung невірний "
    "απαιτείται λάθος आवश्यक गलत обязателен обязательно"
)
"""Words that follow `the password is` and say something about it."""
COLUMNS = _words(
    "role roles host hostname port url uri website site status state notes note comment comments "
    "description details type group groups team created updated modified expires age name value "
    "shell home default location environment region service server database account mail address "
    "passed failed skipped pass fail quota plan owner version rotation scope faster slower"
)
"""Names of columns beside that of a password, and results."""
OPTION_WORDS = _words(
    "flag flags option options argument arguments parameter parameters command commands "
    "switch requires field fields param params are"
)
"""Words that follow the name of an option in prose."""
COMPOUNDS = _words(
    "authentication auth authorization field form reset reset-flow manager hashing hash policy "
    "protection prompt login access change changes recovery rotation input option validation "
    "entry logic support"
)
"""Words that form a compound with `password`: `with password authentication`."""
STATE_ENDINGS = (
    "ed",
    "ing",
    "able",
    "ible",
    "less",
    "iert",
    "tet",
    "ido",
    "ida",
    "ado",
    "ada",
    "uta",
    "ata",
    "uto",
)
"""Endings of participles: `the password is expired`."""
NAMES_OF_PASSWORDS = _words(
    "password passwd passwort kennwort passphrase passcode contrase senha wachtwoord hasło пароль "
    "密码 パスワード 비밀번호 secret token credential apikey api_key api-key"
)
"""Names of passwords and other secrets, which labels and references contain."""
SHORT_NAMES_OF_PASSWORDS = ("pwd",)
"""Names so short that a drawn password may contain one."""
