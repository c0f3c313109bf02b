"""Personal data: redacted on request only, and the folders around it stay."""

import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.pii_texts import PII_REDACTOR, assert_redacted
from turnetl.parsing import Grouping
from turnetl.redact import SecretRedactor

MAIL, HOME, IP, AUTHOR = (
    rf"\[REDACTED:{name}:[0-9a-f]+\]" for name in ("email", "home", "ip", "author")
)


def test_personal_data_is_redacted_and_its_context_stays(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("mail kim.lee+ci@shop.co.uk.", rf"mail {MAIL}\."),
        ("<kim@mail.shop.de>, lee_k@shop.io", rf"<{MAIL}>, {MAIL}"),
        ("Author: Kim <12345+kim@users.noreply.github.com>", rf"Author: {AUTHOR} <{MAIL}>"),
        (json.dumps({"a": "by\nkim@shop.de\n"}), rf'{{"a": "by\\n{MAIL}\\n"}}'),
        ("an jörg.müller@shop.de", rf"an {MAIL}"),
        ("<zoë@müller.de>, и.петров@почта.рф", rf"<{MAIL}>, {MAIL}"),
        ("写给kim@shop.com。写给张三@shop.cn", rf"写给{MAIL}。{MAIL}"),
        (json.dumps({"a": "by\njörg@shop.de"}), rf'{{"a": "by\\n{MAIL}"}}'),
        ("/home/kim/shop", rf"/home/{HOME}/shop"),
        ("cd /home/kim", rf"cd /home/{HOME}"),
        ("in /Users/kim.lee.", rf"in /Users/{HOME}\."),
        ("/var/home/kim/x:/home/kim/bin", rf"/var/home/{HOME}/x:/home/{HOME}/bin"),
        ("file:///Users/kim/a.py", rf"file:///Users/{HOME}/a.py"),
        ("a\\n/home/kim/b", rf"a\\n/home/{HOME}/b"),
        ("gcc -I/home/kim/include", rf"gcc -I/home/{HOME}/include"),
        ("C:\\Users\\kim\\shop", rf"C:\\Users\\{HOME}\\shop"),
        ("c:\\users\\Kim Lee\\shop", rf"c:\\users\\{HOME}\\shop"),
        ("C:/Users/kim/shop", rf"C:/Users/{HOME}/shop"),
        ("C:\\\\Users\\\\kim\\\\shop", rf"C:\\\\Users\\\\{HOME}\\\\shop"),
        ("C:\\\\\\\\Users\\\\\\\\kim\\\\\\\\shop", rf"C:\\{{4}}Users\\{{4}}{HOME}\\{{4}}shop"),
        ("/mnt/c/Users/kim", rf"/mnt/c/Users/{HOME}"),
        ("/c/Users/kim/x", rf"/c/Users/{HOME}/x"),
        (r"\/home\/kim\/shop", rf"\\/home\\/{HOME}\\/shop"),
        ("c%3A%2FUsers%2Fkim%2Fx", rf"c%3A%2FUsers%2F{HOME}%2Fx"),
        ("~/.claude/projects/-home-kim-shop/a.jsonl", rf"[^[]*/-home-{HOME}-shop/a.jsonl"),
        ("ssh root@10.20.30.40:22", rf"ssh root@{IP}:22"),
        ("10.0.0.17, 10.0.0.18 10.0.0.19", rf"{IP}, {IP} {IP}"),
        ("http://192.168.1.20:8080/x", rf"http://{IP}:8080/x"),
        ("inet6 fe80::1ff:fe23:4567:890a", rf"inet6 {IP}"),
        ("[2a01:4f8:c17:b0f::2]:443", rf"\[{IP}\]:443"),
        ("2600:1f18:24e6:b901:7f51:9c2e:8f11:93ab ok", rf"{IP} ok"),
    ]:
        with subtests.test(text=text):
            (clean,), (count,) = PII_REDACTOR.redact([text])
            assert re.fullmatch(expected, clean), clean
            assert count == clean.count("[REDACTED:")
            assert PII_REDACTOR.redact([clean]) == ([clean], [0])


def test_values_that_identify_nobody_stay(subtests: pytest.Subtests) -> None:
    for text in [
        "git@github.com:shop/web.git and noreply@shop.de",
        "kim@example.com, kim@mail.example.org, kim@shop.test",
        "logo@2x.png, import x from '@shop/web.core', left-pad@1.3.0",
        "@app.route and a @ b.shape",
        "src/home/index.tsx, https://api.shop.de/users/kim, App/Users/List.cs",
        "/home/$USER/x /home/<name>/x /home/{user} /home/*/x",
        "/Users/Shared/x C:\\Users\\Public\\x",
        "127.0.0.1:80 0.0.0.0 ::1 :: 255.255.255.0",
        "192.0.2.7 198.51.100.7 2001:db8::7",
        "v10.2.3.4, version 10.2.3.4, version: '10.2.3.4', pip install shop==10.2.3.4",
        "shop-10.2.3.4.tgz, shop-10.2.3.4-beta, Chrome/120.0.0.0, 1.2.3.4, 1.3.6.1.4.1.311",
        "at 12:34:56, std::fs, ad::be, 2024:01:01",
        "file.py:2024:12: error",
    ]:
        with subtests.test(text=text):
            assert PII_REDACTOR.redact([text]) == ([text], [0])


def test_without_a_request_personal_data_stays() -> None:
    texts = ["/home/kim/shop kim@shop.de 10.0.0.17"]
    assert SecretRedactor().redact(texts) == (texts, [0])


@pytest.mark.parametrize(
    ("revealing", "other", "name"),
    [
        ("/home/kimlee2024/shop", "see github.com/kimlee2024/shop", "kimlee2024"),
        ("/Users/kimlindq/shop", "asked kimlindq, on branch kimlindq/fix\\nkimlindq", "kimlindq"),
        ("Author: Kim Lindquist <kim@shop.de>", "wrote Kim Lindquist", "Kim Lindquist"),
    ],
)
def test_a_name_that_one_text_reveals_is_redacted_in_all(
    revealing: str, other: str, name: str
) -> None:
    clean, counts = PII_REDACTOR.redact([revealing, other, "kimlee, Kim, lindq, Lindquist"])
    assert name not in clean[1]
    assert counts[1] == other.count(name)
    assert (clean[2], counts[2]) == ("kimlee, Kim, lindq, Lindquist", 0)
    assert PII_REDACTOR.redact(clean) == (clean, [0] * len(clean))


@pytest.mark.parametrize(
    ("revealing", "other"),
    [
        ("/home/kim/shop", "kim is a short name"),
        ("/home/customer/shop", "customer is an ordinary word"),
        ("/home/martin/shop", "Martin may be anybody"),
        ("/home/kimlee2024/shop", "kimlee20245 and akimlee2024 are other words"),
        ("/home/kimlee2024/shop", "/srv/kimlee2024/shop"),
        ("Author: Fix <kim@shop.de>", "Fix the tests"),
    ],
)
def test_a_revealed_name_stays_where_it_may_be_something_else(revealing: str, other: str) -> None:
    clean, counts = PII_REDACTOR.redact([revealing, other])
    assert (clean[1], counts[0] > 0, counts[1]) == (other, True, 0)


@pytest.mark.parametrize("root", ["/home/", "C:\\Users\\"])
def test_a_name_stays_in_the_folders_of_a_path_that_name_the_project(root: str) -> None:
    cwd = f"{root}kimlee2024/My Code/kimlee2024/shop"
    clean, counts = PII_REDACTOR.redact([cwd, "by kimlee2024"])
    assert clean[0].startswith(f"{root}[REDACTED:home:")
    assert clean[0].endswith("]/My Code/kimlee2024/shop")
    assert counts == [1, 1]


def test_secrets_next_to_personal_data_are_redacted_too() -> None:
    (clean,), (count,) = PII_REDACTOR.redact(["postgres://kim:8fj2Kd93Lq@10.0.0.17/home/kim/x"])
    assert "8fj2Kd93Lq" not in clean
    assert "10.0.0.17" not in clean
    assert count >= 2


def test_the_version_depends_on_pii_and_another_process_receives_it() -> None:
    assert PII_REDACTOR.version != SecretRedactor().version
    copy = pickle.loads(pickle.dumps(SecretRedactor(b"key", pii=True)))  # noqa: S301 - our own
    assert copy.version == SecretRedactor(b"key", pii=True).version
    assert copy.redact(["/home/kim/x"])[0] != PII_REDACTOR.redact(["/home/kim/x"])[0]
    keyless = SecretRedactor()
    assert pickle.loads(pickle.dumps(keyless)).version == keyless.version  # noqa: S301


def test_redaction_changes_no_group(subtests: pytest.Subtests) -> None:
    for cwd in [
        *("/home/kim/shop", "/home/kim", "/Users/kim/work/shop", "C:\\Users\\kim\\shop"),
        *("/mnt/c/Users/kim/shop", "/home/kim/.codex/worktrees/44be/shop", "/Users/kim/.cursor"),
        *(
            "C:\\Users\\Kim Lee\\shop",
            "/var/home/kim/shop/.worktrees/fix",
            "/srv/shop",
            "/opt/shop",
        ),
        *("\\\\wsl$\\Ubuntu\\home\\kim\\shop", "C:\\Users\\kim\\AppData\\Local\\Temp\\tmpa1b2c3d4"),
    ]:
        with subtests.test(cwd=cwd):
            (clean,), _ = PII_REDACTOR.redact([cwd])
            assert "kim" not in clean.lower()
            grouping = Grouping(user="somebody")
            redacted, original = (grouping.group(path, "claude_code", "a") for path in (clean, cwd))
            assert redacted == original


ALPHABET = st.sampled_from([*"ab12./\\:@-% ", "/home/", "C:\\Users\\", "fe80::", "10.0.0.", "\\n"])


@given(st.lists(ALPHABET, max_size=30).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, _ = PII_REDACTOR.redact([text])
    assert PII_REDACTOR.redact(once) == (once, [0])


@pytest.mark.parametrize(
    "marked",
    [
        r'{"text": "a\n«mac:3c:22:fb:4a:9e:01» (REACHABLE)"}',
        r'{"text": "a\n«mac:3c22.fb4a.9e01» up"}',
        r'{"text": "a\n«national-id:529.982.247-25»\nb"}',
        r'{"text": "a\n«phone:+49 1512 3456789»\nb"}',
        r'{"command": "cd x\nssh «user:kimberlee»@build7 ls"}',
    ],
)
def test_what_follows_an_escaped_line_end_is_redacted(marked: str) -> None:
    assert_redacted(marked)
