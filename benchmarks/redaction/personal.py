"""Canaries and lookalikes of personal data, for `--redact-pii`."""

import secrets
from collections.abc import Callable, Iterator

from benchmarks.redaction.canaries import Canary
from benchmarks.redaction.drawing import draw
from turnetl.redact.pii import national_ids

FAMILY = "personal data"


def _name() -> str:
    return draw("{n7}")


def _person() -> str:
    return f"{draw('{n6}').title()} {draw('{n8}').title()}"


def _checked(pattern: str, is_valid: Callable[[str], bool]) -> Callable[[], str]:
    def number() -> str:
        while not is_valid(value := draw(pattern)):
            pass
        return value

    return number


def _ip() -> str:
    return ".".join(str(secrets.randbelow(60) + 130) for _ in range(4))


KINDS: dict[str, tuple[Callable[[], str], tuple[str, ...]]] = {
    "e-mail address": (
        lambda: f"{_name()}@{draw('{n8}')}.de",
        ("{}", "mailto:{}", "<{}>", '"email": "{}"', "Author: x <{}>", "git clone https://{}/a"),
    ),
    "e-mail address, encoded": (
        lambda: f"{_name()}%40{draw('{n8}')}.de",
        ("?mail={}", "https://x.io/?u={}&b=1", "user={};"),
    ),
    "e-mail address, spelled": (
        lambda: f"{_name()} [at] {draw('{n8}')} [dot] com",
        ("write to {}", "({})", "mail: {}."),
    ),
    "user in a home folder": (
        _name,
        (
            *("/home/{}/src", "/Users/{}/src", "C:\\Users\\{}\\src", "C:\\\\Users\\\\{}\\\\src"),
            *("file:///Users/{}/a", "%2FUsers%2F{}%2Fa", "/mnt/c/Users/{}", "/var/home/{}/x"),
            *(
                "projects/-Users-{}-src-x",
                "projects/C--Users-{}-src",
                "cd ~{}/src",
                "HOME=/home/{}",
            ),
        ),
    ),
    "user": (
        _name,
        (
            *("-rw-r--r--  1 {} staff  495 19 Jan 10:27 a", "drwx------ 2 root {} 64 Nov 2 a"),
            *("uid=1000({}) gid=20(staff)", "$ whoami\n{}\n", "{}@desk-7:~/src$ ls", "USER={}"),
            *("[{}@desk-7 src]$ ls", "{}@desk-7 src % ls", "ssh {}@build", "sudo -u {} make"),
            *("{}  4242  0.3  1.2 408232 12345 pts/0", "[sudo] password for {}:", "chown {}:x a"),
            *("{}:x:1000:1000::/srv:/bin/sh", "\x1b[32m{}@desk-7\x1b[0m:\x1b[34m~/a\x1b[0m$ ls"),
        ),
    ),
    "author": (
        _person,
        (
            *("Author: {} <a@b.de>", "Co-authored-by: {} <a@b.de>", "Signed-off-by: {} <a@b.de>"),
            *("a1b2c3d4 ({} 2026-01-02 12:00:00 +0100 12) x", "a1b2c3d - {}, 3 days ago : Fix"),
            *("a1b2c3d|{}|2026-01-02|Fix", "author {}\nauthor-mail <a@b.de>", "(3 days ago) <{}>"),
            *('"name": "{}", "email": "a@b.de"', "git config user.name '{}'", "Cc: {} <a@b.de>"),
        ),
    ),
    "machine": (
        lambda: f"{draw('{n6}').title()}s-MacBook-Pro",
        ("on {}", "ping {}.local", "{}:src kim$ ls", "kim@{} src % ls", "HOSTNAME={}"),
    ),
    "machine, Windows": (lambda: draw("DESKTOP-{c7}"), ("{}", "COMPUTERNAME={}", "{}\\kim")),
    "IPv4": (_ip, ("{}", "http://{}:80/a", "inet {}/24", "ssh root@{}", "[{}]", "::ffff:{}")),
    "IPv6": (
        lambda: draw("2a01:4f8:{h4}:{h4}::") + str(secrets.randbelow(9) + 1),
        ("{}", "[{}]:443", "inet6 {}/64", "host {}%eth0"),
    ),
    "MAC": (
        lambda: draw("3c:{h2}:fb:{h2}:a{h1}:{h2}"),
        ("ether {}", '"mac": "{}"', "{} (REACHABLE)"),
    ),
    "SSN": (_checked("{d3}-{d2}-{d4}", national_ids.is_ssn), ("{}", "ssn: {}", '"{}"', "a,{},b")),
    "CPF": (_checked("{d3}.{d3}.{d3}-{d2}", national_ids.is_cpf), ("{}", "cpf: {}", "| {} |")),
    "phone": (
        lambda: draw("+49 1512 3{d6}"),
        ("{}", "call {}", "tel:{}", '"phone": "{}"', "| {} |"),
    ),
}
_DRAWS = 20


def personal_canaries() -> Iterator[Canary]:
    """Yield each kind in each place, with several drawn values."""
    for kind, (drawn, places) in KINDS.items():
        for place in places:
            for _ in range(_DRAWS):
                secret = drawn()
                yield Canary(FAMILY, kind, kind, place, secret, place.replace("{}", secret))


LOOKALIKES = """
@app.route('/a')
import x from '@types/node'
npm i user@1.2.3 react@18.3.0-canary.b
git show HEAD@{1} main@{upstream}
git@github.com:shop/web.git
@media (min-width: 40px)
@Override public String a()
logo@2x.png
x = a@b.sum()
noreply@anthropic.com
kim@example.com
look at index dot product
v10.0.0.1
version: '10.2.3.4'
Chrome/120.0.0.0
pip install shop==10.2.3.4
127.0.0.1:80 ::1 0.0.0.0
2001:db8::1 192.0.2.7
12:34:56 2026-01-02T10:00:00+0100
2024:01:01
std::vector<a::b>
aa:bb:cc:dd:ee:ff
f47ac10b-58cc-4372-a567-0e02b2c3d479
MD5 3c:22:fb:12:34:a6:3c:22:fb:12:34:a6:3c:22:fb:12
addr=0x7fff5fbff8c0
1700000000 1700000000123
/home/runner/work /home/ubuntu/x /Users/username/x
import '~bootstrap/scss'
docs/Users-Guide.md
--home-dir x
/home/$USER/x
-rw-r--r-- 1 root root 12 a
uid=0(root) gid=0(root)
USER node
DB_USER=shop
root@3f2a11b9c0de:/app# ls
settings.local.json
shop.svc.cluster.local
HOST=0.0.0.0
Linux kernel 6.8.0
Co-Authored-By: Claude <noreply@anthropic.com>
a1b2c3d Fix the parser
a1b2c3d (HEAD -> main) Merge
"author": "Jane Austen"
name: string; email: string
if (a <b && b> c)
phone: string
212-555-0123
x += 1234567890
@@ -1,6 +1,10 @@
123-45-6789
id 86095742719
sin(130692544)
""".strip().splitlines()


def lookalikes() -> list[str]:
    """Return texts without personal data: alone, in JSON, in a diff, and drawn digests and ids."""
    drawn = ("{h40}", "sha256:{h64}", "{uuid}", "{d13}", "v{d2}.{d2}.{d1}", "{a22}", "call_{a24}")
    return [
        *LOOKALIKES,
        *(f'{{"text": "{text}"}}' for text in LOOKALIKES if '"' not in text),
        *(f"+    {text}" for text in LOOKALIKES),
        *(f"see `{text}`, then go on" for text in LOOKALIKES),
        *(draw(pattern) for pattern in drawn for _ in range(_DRAWS)),
    ]
