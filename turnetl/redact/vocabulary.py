"""Names of secrets, in code, in commands and in several languages, as parts of patterns.

Patterns search bytes: letters that are not ASCII match in the case in which they are written.
"""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PASSWORD = r"(?:passw(?:or)?d|passphrase|passcode)"  # noqa: S105 - a pattern
SHORT_PASSWORD = r"(?-i:[Pp]ass|[Pp]wd?|PWD?|psk|PSK|mdp|MDP)"  # noqa: S105 - a pattern
FOREIGN_PASSWORD = (
    r"(?:passwort(?:e?s)?|kennwort(?:e?s)?|mot de passe|phrase (?:secrète|de passe)"  # noqa: S105
    r"|contrase(?:ñ|n)a|palavra[- ]passe|wachtwoord|wachtzin|senha|hasł(?:o|a|em)"
    r"|(?:п|П)арол(?:ь|я|ю|ем|ьн(?:ая|ую|а) фраз(?:а|у))|parola d'ordine|parol(?:a|e|ă)"  # noqa: RUF001
    r"(?:sı|mız|nız|m)?"  # noqa: RUF001
    r"|clave|lösenord(?:et)?|adgangskode(?:n)?|kodeord(?:et)?|passord(?:et)?|salasana(?:ni|si|ksi)?"
    r"|(?:ş|Ş)ifre(?:m|si|n|niz|miz)?|hesl(?:o|a|em)|jelsz(?:ót?|av(?:a|ad|am))|lozinka|zaporka"
    r"|geslo|(?:m|M)ật khẩu|(?:kata )?sandi(?:nya)?|รหัสผ่าน|(?:كلمة (?:ال)?|رمز ال)(?:مرور|سر)"
    r"|(?:ה)?סיסמ(?:ה|ת|א)|(?:κ|Κ)ωδικός(?: πρόσβασης)?|(?:σ|Σ)υνθηματικό|पासवर्ड|कूटशब्द"  # noqa: RUF001
    r"|slaptažodis|parooli?|lykilorð)"
)
FOREIGN_KEY = (
    r"(?:(?:klucz|klíč|kľúč|cheia|kunci|(?:k|K)h(?:óa|oá)|ключ|Ключ|κλειδί|مفتاح|מפתח)"
    r"[ -](?:api|pryw\S+|tajny|dostępu|secretă|rahasia|akses|доступ(?:а|у)|bí mật|الوصول|סודי)"  # noqa: RUF001
    r"|api[ -]?(?:klíč|kľúč|nyckeln?|nøgle(?:n)?|nøkkel(?:en)?|avain|anahtarı|kulcs|ключ|키|キー)"  # noqa: RUF001
    r"|(?:gizli|erişim) anahtarı|(?:т|Т)окен доступ(?:а|у)|(?:с|С)екретн(?:ый|ий) ключ"  # noqa: RUF001
    r"|एपीआई कुंजी|गुप्त कुंजी)"
)
PIN = (
    r"(?:pin(?:[ -]?(?:code|kod(?:en|u|i)?|koodi|kód|nummer|number|nya))?|codul pin"
    r"|(?:door|gate|alarm|unlock|access|security|verification|confirmation|one-time|sms|otp|login"
    r"|2fa|mfa|sign-in|keypad|garage|activation|authentication)[ -]"
    r"(?:code|pin)|puk|(?:zugangs|tür|bestätigungs|sicherheits|toegangs|verificatie)code"
    r"|code d'accès|codice di (?:accesso|verifica)|código de (?:acceso|acesso|verifica(?:ción|ção))"
    r"|kode (?:otp|akses|verifikasi)|mã (?:pin|otp|xác (?:nhận|minh))|(?:п|П)ин-?код|ПИН(?:-?код)?"
    r"|(?:к|К)од (?:доступ(?:а|у)|подтверждения)|पिन|رمز(?: التحقق)?|κωδικός pin"  # noqa: RUF001
    r"|暗証番号|認証コード|验证码|驗證碼|인증번호|(?:비밀)?번호)"
)
"""Numbers that open something."""
EAST_ASIAN_KEY = r"(?:密钥|密鑰|金鑰|令牌|トークン|キー|秘密鍵|키|토큰)"
EAST_ASIAN_PASSWORD = r"(?:密码|密碼|口令|パスワード|비밀번호|비번|암호)"  # noqa: S105 - a pattern
KEY = (
    r"(?:secret(?:[ _-]?key)?(?:[ _-]?base)?|token|jeton|(?:api|access|private|account|auth|master"
    r"|app|encryption|signing|licen[cs]e|webhook|consumer|subscription|instrumentation|ingestion"
    r"|deploy|hmac|sdk)"
    r"[ _.-]?(?:key|schlüssel)|client-key-data|application-key|unseal key(?: [0-9])?"
    r"|jeton d'accès|clé (?:d')?(?:api|accès|secrète|privée)|clave (?:de )?(?:api|secreta|privada)"
    r"|chave (?:d[ae] )?(?:api|secreta|privada)|chiave (?:api|segreta|privata)|klucz api|geheimnis"
    r"|api-ключ"
    r"|schlüssel|sleutel|ключ api|(?:т|Т)окен|секретный ключ)"  # noqa: RUF001
)
"""Values of these are drawn."""
SERVICES = (
    r"(?:openai|anthropic|mistral|cohere|mailgun|mailjet|mandrill|mailchimp|sendgrid"
    r"|postmark|sparkpost|brevo|twilio|telegram|discord|slack|twitter|facebook|fb app|instagram"
    r"|linkedin|reddit|spotify|stripe|paypal|plaid|algolia|datadog|newrelic|sentry|splunk|logzio"
    r"|openweather|weather|cloudflare|heroku|vercel|netlify)"
)
"""Whose plain `key` is a secret."""
IS = (
    r"(?:is|was|are|be|ist|lautet|war|wurde auf|est|c'est|es|era|quedó como|ficou|é|è|är|er|je"
    r"|este|werd|wordt|menjadi|thành|là|คือ|هي|היא|jest|je|adalah|on|είναι|है|lett|bola|bylo"
    r"|byla|som|sono)"
)
"""What says that a value follows: verbs of sentences."""
ADVERB = (
    r"(?:now|still|set to|currently|always|just|simply|jetzt|nun|maintenant|ahora|agora|adesso|nu"
    r"|teraz|again|also|probably|this:?)"
)
LINK = (
    r"(?:[ \t]*(?::|：|=>|->|→|⇒|~)[ \t]*"  # noqa: RUF001  wide
    rf"|[ \t]+(?:(?:should|will|would|used[ \t]+to)[ \t]+)?{IS}(?:[ \t]+{ADVERB})?[ \t]*:?[ \t]+"
    rf"|'s[ \t]+|[ \t]*คือ[ \t]*)"
)
"""Between the name of a secret and its value, in a line of a chat."""
PURPOSE = (
    r"(?:[ \t]+(?:of|for|to|on|in|at|from|here|du|de|del|des|für|fürs|von|vom|zum|zur|da|do|di|van"
    r"|voor|dla|til|till|på|för|k|ke|ku|do|na|untuk|для|до|od|от|від|per"
    r"|pour|para|pro|zur|dem|la|của|cho|για|του)"  # noqa: RUF001
    r"(?:[ \t]+[^ \t\r\n:=]{1,30}){1,3}?"
    r"|[ \t]*\([^()\r\n]{1,30}\)|[ \t]*\[[^\[\]\r\n]{1,20}\]|[ \t]+(?:wifi|wlan|here|root|admin))"
)
"""What a secret is for: `for the staging server`, `(shown once)`."""
CHANGED = (
    r"(?:(?:set|changed|reset|updated|rotated|switched)[ \t]+(?:back[ \t]+)?to"
    r"|(?:alterad[ao]|mudad[ao]|trocad[ao])[ \t]+para|(?:gewijzigd|veranderd)[ \t]+(?:in|naar)"
    r"|diubah[ \t]+(?:menjadi|ke)|đổi[ \t]+(?:thành|sang))"
)
"""What says, without a doubt, that the next word is the new value."""
ASIAN_CHANGED = (
    r"(?:(?:已|被|已经)?(?:重置|重設|更改|修改|设置|設置|設定|变更|變更|改)(?:为|為|成|到)(?:了)?)"
)
AFTER_VALUE = r"(?:olarak[ \t]+(?:de|ay|be|gü)|oldu|yapıldı|lett|értékre|है|हैं|रखा)"  # noqa: RUF001
"""What ends a sentence whose verb stands after the value."""
