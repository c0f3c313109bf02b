"""Secrets in the syntaxes that announce them, whatever the value looks like."""

import pytest

from benchmarks.redaction.canaries import Canary, keys, of_type, payment_numbers
from benchmarks.redaction.drawing import draw, luhn
from benchmarks.redaction.held_out import first, fourth
from benchmarks.redaction.held_out.lookalikes import lookalikes as held_out_lookalikes
from benchmarks.redaction.lookalikes import lookalikes
from benchmarks.redaction.places import DISGUISES, PLACES
from benchmarks.redaction.syntaxes import BARE, QUOTED, SYNTAXES, with_name
from benchmarks.redaction.tokens import TOKENS
from benchmarks.redaction.unseen import HELD_OUT_SETS, held_out_canaries
from benchmarks.redaction.values import VALUE_TYPES
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()
CERTAIN = ("drawn", "letters only", "digits only", "dashed words", "word and number", "phrase")
"""Types of values of which none is left: drawn letters may look like a name of code."""
NO_PHRASE = ("Input Password    id=password    {}",)
"""Syntaxes that end a value at a space."""
ANNOUNCED = {
    BARE: (
        *("user deploy, pass {}", "try logging in with {} as the password", "pw: {} (root)"),
        *("the password for the staging db should be {}", "das neue Kennwort ist {}"),
        *("Melde dich mit dem Passwort {} an", "le mdp est {}", "la nueva contraseña es {}"),
        *("usuário admin, senha {}", "la nuova password è {}", "nieuw wachtwoord: {}"),
        *(
            "новый пароль: {}",
            "mật khẩu là {}",
            "şifre: {}",
            "用户名 root, 密码是{}",
            "密码改成了 {}",
        ),
        *("新しいパスワードは「{}」です", "비밀번호를 {}로 바꿨어요", "הסיסמה היא {}"),
        *("net user kim {} /add", "security add-generic-password -a kim -s shop -w {}"),
        *("plink -ssh kim@host -pw {}", "nxc smb 10.0.0.1 -u kim -p {}", "AUTH default {}"),
        *("keytool -importkeystore -deststorepass {}", "mvn deploy -Drepo.password={}"),
        *("enable secret 0 {}", "tacacs-server key {}", "WIFI:T:WPA;S:Home;P:{};;"),
        *("password: &pw {}", "echo {} | passwd --stdin kim", "yes {} | passwd kim"),
        *("user;password\nkim;{}", "user\tpassword\nkim\t{}", "NAME   PASSWORD\nkim    {}"),
        *(" user | password\n------+------\n kim | {}\n(1 row)", "user,pw\\nkim,{}\\n"),
        *("Key       Value\n---       -----\npassword  {}", "passwords:\n  - {}\n"),
    ),
    QUOTED: (
        *('password: Optional[str] = "{}"', 'char password[] = "{}";', "DB_PASS ||= '{}'"),
        *('password: str = Field(default="{}")', 'env("DB_PASSWORD", default="{}")'),
        *('var p = new { Password = x.Get("y") ?? "{}" };', 'auth=("kim", "{}")'),
        *('std::env::var("DB_PASSWORD").unwrap_or("{}".to_string())', "bcrypt.hash('{}', 10)"),
        *('{"password": {"value": "{}"}}', '{"value": "{}", "name": "password"}'),
        *('<entry key="password"><value>{}</value></entry>', "<passwd><![CDATA[{}]]></passwd>"),
        *('expect "assword:"\nsend "{}\\r"', "EXEC sp_addlogin 'kim', '{}';"),
        *('run(["tool", "--password", "{}"])', "Passwort „{}“", 'x = "{}"  # the password'),
    ),
}
"""Syntaxes of chosen passwords, by whether they may have spaces."""
KEY_SYNTAXES = (
    *("here's my token {}", "the signing secret for webhooks is {}", "mailgun api key {}"),
    *(
        "das Token lautet {}",
        "la clé d'API est {}",
        "токен: {}",
        "API密钥是{}",
        "トークンは {} です",
    ),
    *("const JWT_SECRET: string = '{}';", "process.env.JWT_SECRET ?? '{}'", "-token {}"),
    *('localStorage.setItem("token", "{}")', 'jwt.sign(payload, "{}")', "vault unseal {}"),
    *('<entry key="api.key">{}</entry>', "Ocp-Apim-Subscription-Key: {}", "vault token {}"),
)
CODE_SYNTAXES = {
    "Setup key: {}": "{c4} {c4} {c4} {c4}",
    "TOTP seed {} (SHA1)": "{c16}",
    "gmail app password: {}": "bcdf {n4} {n4} {n4}",
    "bsky app-password {}": "bcdf-{n4}-{n4}-{n4}",
    "Backup codes:\n1. {}\n": "{d4}-{d4}",
    "Codes de secours :\n- {}": "a{d4}-{d4}",
    "my bank PIN is 0{}, don't tell anyone": "{d5}",
    "Wallet mnemonic\n{}": " ".join(f"{number} {{n5}}" for number in range(1, 13)),
}
"""Patterns of codes by their syntax."""
REDACTED_ANYWAY = {"postgres://user:password@localhost:5432/db", "https://user:pass@example.com/"}
"""Placeholders that look like a password in an address."""


SAID = (
    *("Das Passwort habe ich auf {} gesetzt", "Mot de passe pour le serveur FTP : {}"),
    *("La contraseña se cambió a {}", "A senha foi alterada para {}", "Het wachtwoord wordt {}"),
    *("La password è stata cambiata in {}", "Hasłem jest {}", "Heslo bylo změněno na {}"),
    *(
        "Heslem je {}",
        "Lösenordet har ändrats till {}",
        "Kodeord: {}",
        "Passordet ble endret til {}",
    ),
    *("Uusi salasanasi on {}", "Şifre {} olarak değiştirildi", "Ο κωδικός άλλαξε σε {}"),  # noqa: RUF001
    *("Пароль изменён на {}", "Пароль до бази даних: {}", "Parola a fost schimbată în {}"),
    *(
        "A jelszót {} értékre állítottam",
        "Kata sandi diubah menjadi {}",
        "Mật khẩu đã đổi thành {}",
    ),
    *("सर्वर का पासवर्ड {} है", "كلمة مرور الخادم هي {}", "הסיסמה לשרת היא {}"),
    *(
        "パスワードを {} に変更しました",
        "密码已重置为 {}",
        "密碼已更改為 {}",
        "비밀번호를 {}로 변경했습니다",
    ),
    *("lpass login kim <<EOF\n{}\nEOF", "New password: x\nEnter it again: {}"),
    *("local password = [[{}]]", "my $password = q{{}};", 'let password = r#"{}"#;'),
    *('new[] { "kim", "{}" }; // user, password', "? db_password\n: {}", "${APP_PWD:-{}}"),
    *('{"columns":["user","password"],"rows":[["kim","{}"]]}', '[["login","pwd"],["kim","{}"]]'),
    *('{"text":"{}","ref":"e9","element":"Password textbox"}', '%any kim : EAP "{}"'),
    *('{"value": "{}", "selector": "#password"}', '<input name="password" id="p" value="{}">'),
)
"""Sentences in many languages, and other places where a name and a value stand apart."""
ORDINARY = (
    *("Das Passwort muss geändert werden", "Das Passwort wurde auf Wunsch geändert"),
    *("Le mot de passe a été changé en production", "La contraseña se cambió a tiempo"),
    *("Hasło zostało zmienione na stronie", "Heslo je nesprávné", "Passordet er feil"),
    *("Şifre başarıyla değiştirildi", "Пароль изменён на сайте", "A jelszó helytelen"),  # noqa: RUF001
    *("密码不能为空", "パスワードを入力してください", "비밀번호를 입력하세요", "Kata sandi salah"),
    *("the password you entered is incorrect", "Second pass: look at the tests", "bypass=Route66x"),
    *('[["user","password"],["string","string"]]', "secrets.token_hex(16)", "error code: 1045"),
    *("postgres://USER:PASSWORD@HOST:5432/DATABASE", 'keyring.get_password("shop", "kim")'),
)


def left(canaries: list[Canary]) -> list[str]:
    return [canary.syntax for canary in left_canaries(canaries)]


def left_canaries(canaries: list[Canary]) -> list[Canary]:
    results = REDACTOR.redact_many([[canary.text] for canary in canaries])
    return [
        canary
        for canary, result in zip(canaries, results, strict=True)
        if canary.secret in result.texts[0] or not result.counts[0]
    ]


def passwords(syntax: str, values: str) -> list[Canary]:
    return [
        of_type("", "", syntax, type_)
        for type_ in VALUE_TYPES
        if type_.name in CERTAIN
        and not (type_.needs_quotes and (values == BARE or syntax in NO_PHRASE))
    ]


@pytest.mark.full
def test_a_password_is_redacted_in_sentences_of_many_languages_and_apart_from_its_name() -> None:
    canaries = []
    for syntax in SAID:
        for pattern in ("Maple-{w4}7", "T{w4}!f{d2}_wLe", "raven{d4}"):
            password = draw(pattern)
            text = syntax.replace("{}", password, 1)
            canaries.append(Canary("", "", pattern, syntax, password, text))
    assert left(canaries) == []


def test_sentences_and_code_about_passwords_stay() -> None:
    results = REDACTOR.redact_many([[text] for text in ORDINARY])
    assert [result.texts[0] for result in results] == [*ORDINARY]


def test_a_chosen_password_is_redacted_in_every_syntax(subtests: pytest.Subtests) -> None:
    for group in SYNTAXES:
        with subtests.test(group=group):
            for values, syntaxes in SYNTAXES[group].items():
                assert (
                    left([canary for syntax in syntaxes for canary in passwords(syntax, values)])
                    == []
                )


def test_a_chosen_password_is_redacted_in_a_syntax_of_the_first_held_out_set(
    subtests: pytest.Subtests,
) -> None:
    for syntax in first.BARE_SYNTAXES:
        with subtests.test(syntax=syntax):
            assert left(passwords(syntax, BARE)) == []


def test_a_chosen_password_in_quotes_is_redacted_in_a_syntax_of_the_first_held_out_set(
    subtests: pytest.Subtests,
) -> None:
    for syntax in first.QUOTED_SYNTAXES:
        with subtests.test(syntax=syntax):
            assert left(passwords(syntax, QUOTED)) == []


@pytest.mark.full
def test_no_chosen_password_token_or_key_of_the_fourth_held_out_set_is_left() -> None:
    (held_out,) = (held_out for held_out in HELD_OUT_SETS if held_out.name == "fourth")
    canaries = [
        canary
        for canary in held_out_canaries(held_out)
        if canary.kind in CERTAIN
        or ("passwords" not in canary.family and "invented" not in canary.kind)
    ]
    announced = [canary for canary in canaries if canary.syntax not in fourth.DRAWN_SYNTAXES]
    assert left(announced) == []


@pytest.mark.full
@pytest.mark.parametrize("values", [BARE, QUOTED])
def test_a_chosen_password_is_redacted_in_every_kind_of_announcement(values: str) -> None:
    assert left([of for syntax in ANNOUNCED[values] for of in passwords(syntax, values)]) == []


def test_a_drawn_key_is_redacted_in_every_kind_of_announcement() -> None:
    patterns = "{h32}", "{a32}", "{w40}", "{uuid}"
    places = [(syntax, pattern) for syntax in KEY_SYNTAXES for pattern in patterns]
    # One value in some thousand looks like a name of code by chance: no second one does.
    assert kept_keys(kept_keys(places)) == []


def kept_keys(places: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Draw a key for each syntax and pattern; return those of which the key is left."""
    values = [draw(pattern) for _, pattern in places]
    canaries = [
        Canary("", "", pattern, syntax, value, syntax.replace("{}", value))
        for (syntax, pattern), value in zip(places, values, strict=True)
    ]
    return [(one.syntax, one.kind) for one in left_canaries(canaries)]


def test_seeds_and_codes_in_groups_are_redacted() -> None:
    canaries = []
    for syntax, pattern in CODE_SYNTAXES.items():
        code = draw(pattern)
        canaries.append(Canary("", "", pattern, syntax, code, syntax.replace("{}", code)))
    assert left(canaries) == []


@pytest.mark.parametrize("group", DISGUISES)
def test_a_chosen_password_is_redacted_in_every_disguise(group: str) -> None:
    texts = [with_name(text) for text in ("<ENV>={}", '{"<camel>": "{}"}', '<name> = "{}"')]
    for disguise in DISGUISES[group].values():
        assert left([of for text in texts for of in passwords(disguise(text), BARE)]) == []


@pytest.mark.full
def test_a_token_is_redacted_in_every_place() -> None:
    canaries = []
    for kind, pattern in TOKENS.items():
        for group, places in PLACES.items():
            for place in places:
                token = draw(pattern)
                canaries.append(Canary("", group, kind, place, token, place.replace("{}", token)))
    assert left(canaries) == []


@pytest.mark.full
def test_keys_seeds_and_payment_numbers_are_redacted() -> None:
    assert left([*keys(), *payment_numbers()]) == []


def test_lookalikes_stay() -> None:
    every = (*lookalikes(), *held_out_lookalikes())
    texts = [text for text in every if text not in REDACTED_ANYWAY]
    results = REDACTOR.redact_many([[text] for text in texts])
    assert [result.texts[0] for result in results] == texts


def test_a_number_with_a_wrong_check_digit_stays() -> None:
    number = luhn("4539", 16)
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert REDACTOR.redact([f"card {wrong}", f"0.{number}", f"id{number}"]).counts == [0, 0, 0]


def test_the_other_columns_of_a_table_stay() -> None:
    rows = ("| kim | tulip | admin |", "| lee | rose22 | dev |")
    text = "\n".join(("| user | password | role |", "|---|---|---|", *rows))
    (clean,), (count,) = REDACTOR.redact([text])
    assert count == 2
    assert "tulip" not in clean
    assert "rose22" not in clean
    assert clean.count("| kim | [REDACTED:password:") == clean.count("] | admin |") == 1
    assert clean.count("| lee | [REDACTED:password:") == clean.count("] | dev |") == 1
