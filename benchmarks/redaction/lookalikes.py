"""Texts that look like secrets and hold none: references, placeholders, types, policies, calls,
digests and ids."""

import base64
import random
from collections.abc import Callable

from benchmarks.redaction.drawing import draw

REFERENCES = """
DB_PASSWORD=${DB_PASSWORD}
DB_PASSWORD=$DB_PASSWORD
export PGPASSWORD="$PGPASSWORD"
password: ${{ secrets.DB_PASSWORD }}
password: {{ vault_db_password }}
password = os.environ["DB_PASSWORD"]
password = os.environ.get("DB_PASSWORD")
password = os.getenv("DB_PASSWORD", "")
password: process.env.DB_PASSWORD
const password = process.env.DB_PASSWORD;
password = settings.db_password
password=self.password
password=password
connect(host=host, user=user, password=password)
connect(password=args.password, token=token)
user.password = newPassword
const { password } = req.body;
const password = req.body.password
password: userPassword,
api_key=settings.api_key.get_secret_value()
token = response.json()["access_token"]
const token = await getToken();
let secret = config.secret.clone();
password = var.db_password
password = data.aws_secretsmanager_secret_version.db.secret_string
secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
password: !vault |
password: !Ref DBPassword
MasterUserPassword: !Sub '{{resolve:secretsmanager:db}}'
valueFrom: {secretKeyRef: {name: db, key: password}}
passwordSecretRef: db-credentials
POSTGRES_PASSWORD_FILE=/run/secrets/postgres
password_file: /etc/app/password.txt
password = file("password.txt")
$password = $_POST['password'];
$password = getenv('DB_PASSWORD');
'password' => env('DB_PASSWORD', ''),
'password' => $request->password,
password = params[:password]
PASSWORD=$(cat /run/secrets/pw)
PASSWORD=`pass show db`
TOKEN=$(gcloud auth print-access-token)
curl -u "$USER:$PASSWORD" https://x.io
curl -H "Authorization: Bearer $TOKEN" https://x.io
curl -H "Authorization: Bearer ${TOKEN}" https://x.io
mysql -u root -p"$MYSQL_ROOT_PASSWORD" shop
mysql -u root -p shop
mysql -u root -p
sshpass -e ssh host
sshpass -p "$PASS" ssh host
docker login -u kim --password-stdin
docker run -p 8080:80 nginx
redis-cli -a "$REDIS_PASSWORD" ping
psql -h db -U app -p 5432 shop
mkdir -p src/password
ssh -p 2222 kim@host
zip -r out.zip src
openssl req -newkey rsa:2048 -keyout key.pem -passout env:PASS
openssl rsa -in key.pem -passin file:pass.txt
postgres://${USER}:${PASSWORD}@db:5432/shop
postgres://user:password@localhost:5432/db
f"postgres://{user}:{password}@{host}/{db}"
https://user:pass@example.com/
redis://localhost:6379/0
kubectl get secret db -o jsonpath='{.data.password}'
aws secretsmanager get-secret-value --secret-id prod/db/password
vault kv get secret/db
gh secret list
git config credential.helper store
await page.fill('#password', process.env.TEST_PASSWORD);
await page.fill('#password', user.password);
cy.get('#password').should('be.visible')
page.getByLabel('Password').click()
driver.find_element(By.ID, "password").clear()
expect(password).toBe(undefined)
assert user.check_password(password)
if password == confirm_password:
if (!password) throw new Error('Password is required');
password !== confirmPassword
password?: string
"""
PLACEHOLDERS = """
DB_PASSWORD=<password>
DB_PASSWORD=<your-password>
password: <PASSWORD>
password: "<your password here>"
API_KEY=your-api-key
API_KEY=your_api_key_here
password=********
password: "********"
password: '***'
password: xxxxxxxx
password = "xxxxxxxxxxxx"
password: ""
password = ''
password: null
password: ~
password = None
password = nil
"password": null
"password": ""
"password": "[REDACTED]"
"password": "(hidden)"
"password": "..."
password: changeme
password: change-me
PASSWORD=CHANGE_ME
password = "placeholder"
password: example
password: TODO
password: REPLACE_ME
password: %PASSWORD%
password: @PASSWORD@
password: [password]
password: {password}
password: $1
password: %s
"password": "{{password}}"
"password": "{password}"
"password=" + password
'password=%s' % password
"password=${password}"
`password: ${password}`
print(f"password: {password}")
Password: (hidden)
Password:
Enter password:
[sudo] password for kim:
Password for user app:
kim@host's password:
| password | string | yes |
| password | required |
| PASSWORD | the password of the database |
| user | password |
- password: the password of the user
- `password`: string, required
"""
TYPES = """
password: str
password: str = Field(...)
password: str | None = None
password: Optional[str] = None
password: SecretStr
password: string;
password?: string;
password: string | undefined
password: String,
password: Option<String>,
password: Vec<u8>
password string
Password string `json:"password"`
private String password;
val password: String
var password: String?
String password = null;
char password[64];
std::string password;
public string Password { get; set; }
password VARCHAR(255) NOT NULL
password TEXT,
password varchar
"password": {"type": "string"}
"password": "string"
password: { type: String, required: true }
password: z.string().min(8)
password: Joi.string().required()
password: Yup.string()
password = serializers.CharField(write_only=True)
password = forms.CharField(widget=forms.PasswordInput)
password = models.CharField(max_length=128)
password = Column(String)
password: PropTypes.string
type: password
type="password"
<input type="password" name="password" placeholder="Password">
<label for="password">Password</label>
<PasswordField name="password" />
token: str
token: Token
token: CancellationToken
secret: bytes
api_key: str
apiKey: string
"""
POLICIES = """
The password must have 12 characters.
password must have 12 characters
password: must be at least 8 characters long
"password": "must not be empty"
"password": ["This field is required."]
'password' => 'required|min:8|confirmed',
"password": "Password is required"
password: 'Password',
"password": "Passwort",
"password": "Mot de passe",
"passwordHint": "Use at least 8 characters",
password_min_length = 12
PASSWORD_MIN_LENGTH=12
password_length: 16
password_expiry_days: 90
PASSWORD_HASHERS = ["argon2"]
password_reset_timeout = 3600
MAX_PASSWORD_ATTEMPTS=5
password_encryption = scram-sha-256
password_authentication: no
PasswordAuthentication yes
PermitRootLogin prohibit-password
password requisite pam_pwquality.so retry=3
show_password=true
password: true
password: false
use_password: yes
forgot password
Forgot your password?
reset your password in the settings
the password is wrong
the password is not set
the password is stored in the vault
the password is hashed with bcrypt
the password is required
the password is in the env file
the password is too short
My password is not working
What is the password for the database?
the password field is empty
password is missing
password is incorrect
password authentication failed for user "app"
invalid password
Access denied for user 'root'@'localhost' (using password: YES)
Access denied for user 'root'@'localhost' (using password: NO)
Please enter the password of the user.
das Passwort ist falsch
das Passwort ist abgelaufen
das Passwort wird verschlüsselt
le mot de passe est incorrect
la contraseña es incorrecta
a senha está errada
пароль неверный
密码是必填的
パスワードが違います
token expired
the token is expired
the token is invalid
The secret is stored in Vault.
the API key is missing
secret sauce
token: 12845
tokens: 12845
max_tokens=4096
max_tokens: 4096
"max_tokens": 1024
"total_tokens": 128450
tokenizer: cl100k_base
token_type: Bearer
"token_type": "bearer"
token_count = 512
pad_token = "<pad>"
eos_token="</s>"
secret_name: db-credentials
secretName: my-tls
keyVaultName: shop-vault
api_key_header = "X-API-Key"
"""
CALLS = """
password = getpass()
password = getpass.getpass("Password: ")
password = input("Password: ")
password = prompt("Password")
password = generate_password(16)
password = secrets.token_urlsafe(16)
password = hash_password(password)
password = bcrypt.hash(password, 10)
password = Faker().password()
password = faker.internet.password()
password = random_password.db.result
password: hash(password)
password: await bcrypt.hash(password, 10)
password: faker.internet.password()
password: generatePassword(),
password=make_password("x")
password.length >= 8
password.trim()
password.value = ""
password.isEmpty()
setPassword(e.target.value)
setPassword(password)
const [password, setPassword] = useState('')
onChange={e => setPassword(e.target.value)}
get_password()
check_password(password, hash)
verify_password(plain, hashed)
def reset_password(self, user):
def login(user, password):
function login(user, password) {
class PasswordReset(Form):
import { hashPassword } from './password'
from app.password import hash_password
token = jwt.encode(payload, key)
token = await auth.getToken()
secret = get_secret("db")
test_password_reset_sends_mail PASSED
tests/test_password.py::test_reset_password PASSED
✓ should reject a wrong password (12 ms)
it('rejects a wrong password', async () => {
describe('password reset', () => {
app/password_reset/views.py:12: password = form.cleaned_data["password"]
SELECT password FROM users WHERE id = ?
SELECT id, password_hash FROM users
INSERT INTO users (name, password) VALUES (?, ?)
UPDATE users SET password = ? WHERE id = ?
UPDATE users SET password = $1 WHERE id = $2
UPDATE users SET password = :password
ALTER USER app WITH PASSWORD :'pw';
ALTER TABLE users ADD COLUMN password TEXT
GRANT ALL ON *.* TO 'app'@'%'
git commit -m "Add password reset"
git log --grep=password
grep -rn password src
rg 'password\\s*=' --type py
sed -i 's/password/passphrase/' a.txt
cat /etc/passwd
ls ~/.password-store
pass show db/password
apt install libpam-pwquality
npm install password-validator
pip install passlib
"""
GENERATED: dict[str, Callable[[], str]] = {
    "git log": lambda: draw("commit {h40}\nAuthor: Kim"),
    "short git": lambda: draw("{h7} Fix the token\n{h7} Reset the password"),
    "blob": lambda: draw("index {h7}..{h7} 100644"),
    "git tree": lambda: draw("100644 blob {h40}\ta.py"),
    "uuid": lambda: draw('"id": "{uuid}"'),
    "uuid of a session": lambda: draw("session {uuid} of kim"),
    "sha256": lambda: draw("sha256:{h64}"),
    "md5": lambda: draw("{h32}  file.zip"),
    "integrity": lambda: draw('"integrity": "sha512-{b86}=="'),
    "lock of cargo": lambda: draw('checksum = "{h64}"'),
    "lock of Python": lambda: draw("    --hash=sha256:{h64}"),
    "image": lambda: "data:image/png;base64," + base64.b64encode(random.randbytes(400)).decode(),
    "font": lambda: "url(data:font/woff2;base64," + draw("{b400}") + ")",
    "colour": lambda: draw("color: #{h6}; background: #{h8};"),
    "version": lambda: draw("v{d2}.{d2}.{d2}-beta.{d1}+{h8}"),
    "asset": lambda: draw("dist/assets/index-{a8}.js"),
    "docker image": lambda: draw("postgres@sha256:{h64}"),
    "container": lambda: draw("{h12}   postgres:16   Up 2 hours"),
    "request": lambda: draw("x-request-id: {uuid}"),
    "trace": lambda: draw("traceparent: 00-{h32}-{h16}-01"),
    "etag": lambda: draw('ETag: W/"{h32}"'),
    "tool call": lambda: draw('"id": "toolu_01{a22}"'),
    "message": lambda: draw('"id": "msg_01{a22}"'),
    "response": lambda: draw("resp_{h48}"),
    "order number": lambda: f"order {_not_luhn(16)}",
    "tracking number": lambda: f"shipment {_not_luhn(15)}",
    "grouped number": lambda: "ref " + " ".join(draw("{d4}") for _ in range(3)),
    "ISBN": lambda: draw("ISBN 978-3-16-{d6}-{d1}"),
    "ISBN, short": lambda: draw("978{d10}"),
    "phone": lambda: draw("+49 30 {d4} {d4}"),
    "time in ms": lambda: draw('"created": 17{d11}'),
    "time in us": lambda: draw('"ts": 17{d14}'),
    "time in ns": lambda: draw("17{d17}"),
    "number in JSON": lambda: draw('"value": {d16}.{d2}'),
    "decimal": lambda: draw("0.{d16}"),
    "coordinates": lambda: draw("{d2}.{d14}, {d2}.{d14}"),
    "public key": lambda: draw("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} kim@host"),
    "fingerprint": lambda: draw("SHA256:{b43} kim@host (ED25519)"),
    "certificate": lambda: (
        f"-----BEGIN CERTIFICATE-----\n{draw('{b64}')}\n-----END CERTIFICATE-----"
    ),
    "account": lambda: draw("arn:aws:iam::{d12}:role/deploy"),
    "bucket": lambda: draw("s3://shop-{d12}-eu/data"),
    "address of a wallet": lambda: draw("0x{h40}"),
    "transaction": lambda: draw("tx 0x{h64} was mined"),
    "publishable key": lambda: draw("data-sitekey-id {d8}"),
    "path": lambda: draw("/var/lib/docker/overlay2/{h64}/merged"),
    "pod": lambda: draw("api-{l9}-{l5}   1/1   Running"),
    "cache": lambda: draw("cache-key: node-modules-{h64}"),
    "YouTube": lambda: draw("https://youtu.be/{w11}"),
    "Google document": lambda: draw("https://docs.google.com/document/d/{w44}/edit"),
    "Figma file": lambda: draw("https://www.figma.com/file/{a22}/Shop"),
    "Notion page": lambda: draw("https://www.notion.so/Shop-{h32}"),
    "ULID": lambda: draw("01J{u23}"),
    "object id": lambda: draw('"_id": "{h24}"'),
    "port mapping": lambda: draw("0.0.0.0:{d4}->5432/tcp"),
    "range of lines": lambda: draw("@@ -{d3},{d2} +{d3},{d2} @@ def password():"),
    "memory address": lambda: draw("<object at 0x{h12}>"),
    "hex dump": lambda: " ".join(draw("{h4}") for _ in range(8)),
    "MAC": lambda: ":".join(draw("{h2}") for _ in range(6)),
    "zeros": lambda: "0000 0000 0000 0000",
    "IBAN that fails": lambda: f"DE00{draw('{d17}')}x",
    "VAT": lambda: draw("DE{d9}"),
    "part number": lambda: draw("GB{d2}PART{d8}"),
    "twelve words": lambda: "we then went on to look at all of the files again",
    "coloured word": lambda: "\x1b[32mpassword\x1b[0m: \x1b[33mstring\x1b[0m",
    "coloured test": lambda: "\x1b[32m✓\x1b[0m resets the password \x1b[2m(12 ms)\x1b[0m",
    "coloured diff": lambda: "\x1b[32m+    password = os.environ['DB_PASSWORD']\x1b[m",
    "escaped type": lambda: "{\\u0022password\\u0022: \\u0022string\\u0022}",
    "query": lambda: "?password=&user=kim",
}


def _not_luhn(length: int) -> str:
    while True:
        digits = draw(f"8{{d{length - 1}}}")
        doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
        if sum(number // 10 + number % 10 for number in doubled) % 10:
            return digits


def lookalikes() -> list[str]:
    """Return all lookalikes, newly drawn."""
    written = (REFERENCES, PLACEHOLDERS, TYPES, POLICIES, CALLS)
    lines = [line for texts in written for line in texts.strip().split("\n")]
    return lines + [draw_text() for draw_text in GENERATED.values()]
