"""Texts of sessions that look like secrets and hold none; no rule was changed for them."""

from collections.abc import Callable

from benchmarks.redaction.drawing import draw

WRITTEN = """
DATABASE_URL=postgres://$DB_USER:$DB_PASS@$DB_HOST/$DB_NAME
url = f"postgresql://{cfg.user}:{cfg.password}@{cfg.host}/{cfg.name}"
spring.datasource.password=${DB_PASSWORD:}
password: "{{ lookup('env', 'DB_PASSWORD') }}"
password: "%env(DATABASE_PASSWORD)%"
password = "${var.db_password}"
password = random_password.db.result
value = aws_ssm_parameter.db_password.value
--set auth.password=$(kubectl get secret db -o jsonpath={.data.password})
-e POSTGRES_PASSWORD="${POSTGRES_PASSWORD:?missing}"
- name: DB_PASSWORD
  valueFrom: {secretKeyRef: {name: db, key: db-password}}
password: ((db-password))
echo "$DB_PASSWORD" | docker login -u kim --password-stdin
printf '%s' "$PASS" | sudo -S ls
PGPASSWORD=$PGPASSWORD psql -h db
read -rsp "Password: " DB_PASSWORD
mysql -u root -p$MYSQL_ROOT_PASSWORD shop
sudo -S apt update
chpasswd < users.txt
unzip -P "$ZIP_PASSWORD" backup.zip
openssl rand -base64 32
passwd kim
su - kim
tar -xzpf backup.tar.gz
mkdir -p apps/web/src
python -m http.server -p 8000
cp -p settings.toml backup.toml
ssh -p 2222 kim@host.example.com
psql -p 5433 -U app shop
docker run -p 6379:6379 redis
scp -P 2222 a.txt kim@host:/tmp
nmap -p 1-1024 host
kubectl get pods -w -n prod
grep -w password src/app.py
const password = formData.get('password') as string
const { email, password } = await request.json()
password: z.string().min(8).max(64),
password: yup.string().required('Password is required'),
password: Joi.string().pattern(new RegExp('^[a-z]{3,30}$')),
password: { type: String, required: true, select: false },
password: string | undefined;
password: Optional[str] = None
password: str = Field(..., min_length=8)
password VARCHAR(255) NOT NULL,
password text not null
t.string :password_digest
password = serializers.CharField(write_only=True)
password = PasswordField("Password", validators=[DataRequired()])
`password` is required
The `password` argument is deprecated.
@param password the password of the user
:param password: The plain password.
* @property {string} password - the user's password
password   string   required   The new password.
| password | string | yes | The password of the user |
| `password` | `string` | - |
| DB_PASSWORD | password of the database | none |
expect(wrapper.find('#password').exists()).toBe(true)
cy.get('#password').clear().blur()
expect(page.getByLabel('Password')).toBeVisible()
{"element":"Password field","ref":"e12"}
{"selector":"#password"}
assert "password" not in response.json()
self.assertNotIn("password", data)
mock.patch("app.auth.verify_password", return_value=True)
raise ValueError("password must not be empty")
logger.info("password changed for %s", user.name)
ERROR: password authentication failed for user "postgres"
error: the password for user kim has expired
Warning: Using a password on the command line interface can be insecure.
npm warn deprecated request@2.88.2: request has been deprecated
remote: Support for password authentication was removed on August 13, 2021.
Enter passphrase for key '/home/kim/.ssh/id_ed25519':
Enter PEM pass phrase:
Password:
[sudo] password for kim:
Password for 'https://kim@github.com':
I will add a password field to the form.
Please do not commit the password to the repository.
The password reset flow sends an e-mail.
Ich habe das Passwort-Feld hinzugefügt.
Das Kennwort muss geändert werden.
Le mot de passe doit contenir huit lettres.
La contraseña debe tener ocho letras.
パスワードを変更してください
请输入密码
Введите пароль
password strength: weak
secret: default-token-x7k2p
imagePullSecrets:\\n- name: regcred
kubernetes.io/service-account-token
token_endpoint: https://idp.shop.io/oauth/token
token_url = "https://idp.shop.io/oauth/token"
Authorization: Bearer <token>
headers: { Authorization: `Bearer ${token}` }
headers = {"Authorization": f"Bearer {token}"}
'X-API-Key': process.env.API_KEY!,
api_key = config["api_key"]
apiKey: import.meta.env.VITE_API_KEY
API_KEY: ${API_KEY}
OPENAI_API_KEY=sk-...
export ANTHROPIC_API_KEY="sk-ant-..."
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
STRIPE_SECRET_KEY=sk_test_your_key_here
key: 'your-api-key-here'
cache-key: ${{ runner.os }}-node-${{ hashFiles('**/package-lock.json') }}
cookie: SameSite=Lax; Secure; HttpOnly
document.cookie = "theme=dark; path=/"
session.cookie.maxAge = 3600000
sort_key = lambda item: item.created_at
primary_key = ["group_id", "turn_id"]
foreign_key: user_id
public_key: PublicKey
key_path = "/etc/ssl/private/shop.key"
"""
GENERATED: dict[str, Callable[[], str]] = {
    "merge": lambda: draw("Merge: {h7} {h7}\nAuthor: kim"),
    "rebase": lambda: draw("pick {h12} add the secret to the vault"),
    "submodule": lambda: draw(" {h40} vendor/lib (v1.2.0-3-g{h7})"),
    "action": lambda: draw("uses: actions/checkout@{h40}"),
    "yarn": lambda: draw('  resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{h40}"'),
    "yarn integrity": lambda: draw("  integrity sha512-{b86}=="),
    "pnpm": lambda: draw("    resolution: {integrity: sha512-{b86}==}"),
    "go.sum": lambda: draw("github.com/a/b v1.2.3 h1:{b43}="),
    "poetry": lambda: draw('    {file = "a-1.0.whl", hash = "sha256:{h64}"},'),
    "uv": lambda: draw('url = "https://packages.shop.io/packages/{h2}/{h2}/{h60}/a-1.0.whl"'),
    "nix": lambda: draw('hash = "sha256-{b43}=";'),
    "subresource": lambda: draw('<script src="a.js" integrity="sha384-{b64}"></script>'),
    "policy of content": lambda: draw("script-src 'nonce-{b22}' 'sha256-{b43}='"),
    "image in Markdown": lambda: draw("![logo](data:image/png;base64,iVBORw0KGgo{b300})"),
    "source map": lambda: draw("//# sourceMappingURL=data:application/json;base64,{b200}"),
    "chunk": lambda: draw("_next/static/chunks/{d4}-{h16}.js  12.3 kB"),
    "module of CSS": lambda: draw('<div class="Button_root__{w5} css-{l7}">'),
    "digest of an image": lambda: draw("Digest: sha256:{h64}\nStatus: Downloaded"),
    "layer": lambda: draw("{h12}: Pull complete"),
    "container id": lambda: draw("{h64}"),
    "replica set": lambda: draw("pod/shop-web-{h10}-{l5} created"),
    "run of a workflow": lambda: draw("https://github.com/a/b/actions/runs/{d11}/job/{d11}"),
    "gist": lambda: draw("https://gist.github.com/kim/{h32}"),
    "trace of a span": lambda: draw("trace_id={h32} span_id={h16}"),
    "correlation": lambda: draw("correlationId: {uuid}"),
    "cloud request": lambda: draw("RequestId: {uuid}, HTTP Status Code: 403"),
    "cloud id": lambda: draw("i-0{h16} subnet-0{h16} sg-0{h16}"),
    "certificate in AWS": lambda: draw("arn:aws:acm:eu-west-1:{d12}:certificate/{uuid}"),
    "version of a secret": lambda: draw("projects/{d12}/secrets/db-password/versions/3"),
    "name of a secret": lambda: draw("arn:aws:secretsmanager:eu-west-1:{d12}:secret:db-pw-AbCdEf"),
    "id of a client": lambda: draw("client_id={d12}-{l32}.apps.googleusercontent.com"),
    "tenant": lambda: draw('"tenantId": "{uuid}", "clientId": "{uuid}"'),
    "public key of age": lambda: draw("age1{e58}"),
    "minisign": lambda: draw("untrusted comment: minisign public key {H16}"),
    "fingerprint of GPG": lambda: draw("Primary key fingerprint: " + " ".join(["{H4}"] * 10)),
    "commit signature": lambda: draw("gpg: using RSA key {H40}"),
    "snapshot": lambda: draw('exports[`renders 1`] = `"id-{h8}"`;'),
    "fixture": lambda: draw('"etag": "\\"{h32}\\"", "size": {d6}'),
    "checksum": lambda: draw("{h64}  turnetl-1.0.tar.gz"),
    "torrent": lambda: draw("magnet:?xt=urn:btih:{h40}&dn=debian"),
    "seed of a test": lambda: draw("Using --randomly-seed={d10}"),
    "thread": lambda: draw("0x{h16} in __libc_start_main () from /lib/libc.so.6"),
    "page token": lambda: draw("https://www.youtube.com/playlist?list=PL{w32}"),
    "point in time": lambda: draw("2026-03-02T09:00:00.{d9}Z level=info msg=ok"),
    "vector": lambda: draw("[0.0{d8}, -0.0{d8}, 0.{d9}]"),
    "encoded words": lambda: draw("text=%E5%AF%86%E7%A0%81&page={d2}"),
}


def lookalikes() -> list[str]:
    """Return all lookalikes, newly drawn."""
    return [*WRITTEN.strip().split("\n"), *(draw_text() for draw_text in GENERATED.values())]
