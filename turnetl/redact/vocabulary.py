"""Names of secrets, in code, in commands and in several languages, as parts of patterns.

Patterns search bytes: letters that are not ASCII match in the case in which they are written.
"""

PASSWORD = r"(?:passw(?:or)?d|passphrase|passcode)"  # noqa: S105 - a pattern
SHORT_PASSWORD = r"(?-i:[Pp]ass|[Pp]wd?|PWD?|psk|PSK|mdp|MDP)"  # noqa: S105 - a pattern
FOREIGN_PASSWORD = (
    r"(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|palavra[- ]passe|wachtwoord|senha"  # noqa: S105
    r"|hasł[oa]"
    r"|(?:п|П)арол(?:ь|я|ю)|parola d'ordine|parol[ae]|clave|lösenord(?:et)?|adgangskode(?:n)?"
    r"|passord(?:et)?|salasana|şifre"
    r"(?:m|si|niz)?|heslo|jelszó|lozinka|mật khẩu|kata sandi|รหัสผ่าน|كلمة (?:المرور|السر)"
    r"|סיסמ(?:ה|ת)|הסיסמה|κωδικός(?: πρόσβασης)?|पासवर्ड|parolă|hesla|parolası"  # noqa: RUF001
    r"|şifresi|jelszava|zaporka|geslo|slaptažodis|parooli?|lykilorð)"
)
EAST_ASIAN_KEY = r"(?:密钥|密鑰|金鑰|令牌|トークン|キー|秘密鍵|키|토큰)"
EAST_ASIAN_PASSWORD = r"(?:密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호)"  # noqa: S105 - a pattern
KEY = (
    r"(?:secret(?:[ _-]?key)?(?:[ _-]?base)?|token|jeton|(?:api|access|private|account|auth|master"
    r"|app"
    r"|encryption|signing|licen[cs]e|webhook|consumer|subscription|instrumentation|ingestion"
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
    r"|linkedin"
    r"|reddit|spotify|stripe|paypal|plaid|algolia|datadog|newrelic|sentry|splunk|logzio|openweather"
    r"|weather|cloudflare|heroku|vercel|netlify)"
)
"""Whose plain `key` is a secret."""
IS = (
    r"(?:is|was|are|be|ist|lautet|war|wurde auf|est|c'est|es|era|quedó como|ficou|é|è|är|er|je"
    r"|este|werd|là|คือ|هي|היא|jest|je|adalah|on|είναι|है|lett|bola|bylo|byla|som|sono)"
)
"""What says that a value follows: verbs of sentences."""
ADVERB = (
    r"(?:now|still|set to|currently|always|just|simply|jetzt|nun|maintenant|ahora|agora|adesso|nu"
    r"|teraz|again|also|probably|this:?)"
)
LINK = (
    r"(?:[ \t]*(?::|：|=>|->|→|⇒|~)[ \t]*"  # noqa: RUF001  wide
    rf"|[ \t]+(?:should[ \t]+)?{IS}(?:[ \t]+{ADVERB})?[ \t]*:?[ \t]+|'s[ \t]+|[ \t]*คือ[ \t]*)"
)
"""Between the name of a secret and its value, in a line of a chat."""
PURPOSE = (
    r"(?:[ \t]+(?:of|for|to|on|in|at|from|here|du|de|del|des|für|fürs|von|vom|zum|zur|da|do|di|van"
    r"|voor|dla|til|till|på|för|k|ke|ku|do|na|untuk|для|od|от|від|per)"
    r"(?:[ \t]+[^ \t\r\n:=]{1,30}){1,3}?"
    r"|[ \t]*\([^()\r\n]{1,30}\)|[ \t]*\[[^\[\]\r\n]{1,20}\]|[ \t]+(?:wifi|wlan|here|root|admin))"
)
"""What a secret is for: `for the staging server`, `(shown once)`."""
