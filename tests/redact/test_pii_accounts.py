"""Names of accounts and machines in the output of commands, in prompts and in environments."""

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted


def test_users_are_redacted_in_the_output_of_commands(subtests: pytest.Subtests) -> None:
    for marked in [
        "-rw-r--r--  1 «user:jane»  staff   495 19 Jan 10:27 a.py",
        "drwxrwxr-x+ 12 «user:jane» «user:jane»  4096 Nov 24 00:09 src",
        "-rw-r--r--@ 1 root «user:jane.doe» 1234 2026-01-02 12:00 a",
        "lrwxrwxrwx 1 «user:jane» users 7 bin -> usr/bin\\n-rw-r--r-- 1 «user:jane» users 7 a",
        "-rw-r--r-- «user:jane»/«user:jane» 12 2026-01-02 12:00 a.txt",
        ".rw-r--r-- «user:jane» staff 12 Jan  2 a.txt"[1:].replace("rw", "-rw", 1),
        "Access: (0644/-rw-r--r--)  Uid: ( 1000/    «user:jane»)   Gid: ( 1000/    «user:jane»)",
        "uid=1000(«user:jane») gid=1000(«user:jane») groups=1000(«user:jane»),27(sudo),999(docker)",
        "$ whoami\n«user:jane»\n$ pwd",
        "USER=«user:jane»\nLOGNAME=«user:jane»\nSHELL=/bin/zsh\nUSERNAME=«user:jane»",
        '{"USER": "«user:jane»", "SUDO_USER": "«user:jane»"}',
        "USER       PID %CPU %MEM    VSZ   RSS TTY\n«user:jane»  4242  0.3  1.2 408232 12345 pts/0",
        "UID   PID  PPID  C STIME TTY\n«user:jane»  4242  1  0 10:27 ?  00:00:01 node",
        "«user:jane»  pts/0   2026-11-24 10:00 (tmux)",
        "ssh «user:jane»@build and scp a.txt «user:jane»@build:/tmp",
        "ssh -p 2222 -i key «user:jane»@build 'uptime'",
        "sudo -u «user:jane» make; chown -R «user:jane»:«user:jane» src; ssh -l «user:jane» build",
        "[sudo] password for «user:jane»: ",
        "✓ Logged in to github.com account «user:jane-codes» (keyring)",
        "«user:jane»:x:1000:1000:«user:Jane Doe»,,,:/home/«home:jane»:/bin/bash",
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


def test_user_and_machine_are_redacted_in_prompts(subtests: pytest.Subtests) -> None:
    for marked in [
        "«user:jane»@«host:shop-desk»:~/src$ ls",
        "(venv) «user:jane»@«host:shop-desk»:~/src/web$ make",
        "«user:jane»@«host:Janes-MBP» src % ls",
        "[«user:jane»@«host:shop-desk» src]$ ls",
        "\x1b[01;32m«user:jane»@«host:shop-desk»\x1b[00m:\x1b[01;34m~/src\x1b[00m$ ls",
        "\x1b]0;«user:jane»@«host:shop-desk»: ~/src\x07ok",
        "«user:jane»@«host:shop-desk» ~/src> ls",
        "«user:jane»@«host:shop-desk» MINGW64 ~/src (main)\n$ ls",
        "«host:Janes-MacBook-Pro»:src «user:jane»$ ls",
        "┌──(«user:jane»㉿«host:shop-desk»)-[~/src]\n└─$ ls",
        "root@«host:shop-desk»:/srv# ls",
        "«user:jane»@3f2a11b9c0de:/app$ ls",
        "a\\n«user:jane»@«host:shop-desk»:/srv$ ls",
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "ping «host:Janes-MacBook-Pro.local»",
        "on «host:Janes-MacBook-Pro», «host:janes-mbp.lan» and «host:DESKTOP-AB12CD3».",
        "«host:LAPTOP-4F7QK2ZB»\\«user:jane»",
        "COMPUTERNAME=«host:SHOPDESK» HOSTNAME=«host:shop-desk»",
        "Linux «host:shop-desk» 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux",
        "Darwin «host:Janes-Air» 23.1.0 Darwin Kernel Version 23.1.0",
        "Nov 24 00:09:11 «host:shop-desk» sshd[412]: ok",
        "curl http://«host:nas.local»:8080/ and ssh -p 22 «host:shop-desk.lan» now",
        "$ hostname\n«host:shop-desk»\n",
    ],
)
def test_machines_of_people_are_redacted(marked: str) -> None:
    assert_redacted(marked)


def test_accounts_of_systems_and_lookalikes_stay(subtests: pytest.Subtests) -> None:
    for text in [
        "-rw-r--r-- 1 root root 12 a\ndrwxr-xr-x 2 node staff 64 b\n-rw-r--r-- 1 501 20 3 a",
        "uid=0(root) gid=0(root) groups=0(root)",
        "USER node\nUSER=$USER USER=postgres DB_USER=shop POSTGRES_USER=shop user: User",
        "root 1 0.0 0.1 1234 123 ?  Ss 10:00 0:00 init",
        "root@3f2a11b9c0de:/app# ls",
        "git@github.com:shop/web.git",
        "settings.local.json .env.local vars.local docker-compose.local.yml thread.local()",
        "http://shop.svc.cluster.local:80 http://host.docker.internal:80 http://localhost:3000",
        "Linux kernel 6.8.0 Darwin 23.1.0 Ubuntu Linux 5.10.1",
        "HOST=0.0.0.0 HOST=localhost HOST=process.env.HOST hostname: window.location.hostname",
        "ssh ubuntu@build sudo -u postgres psql; chown -R www-data:www-data /srv; ssh -p 22 host",
        "whoami prints the user; id returns it",
        "a desktop-first layout, laptop-sized, DESKTOP-ONLY, pc-relative, MacBook-Pro",
        "from='user@host' email: user@host:port a@b: c@d e@f",
        "error: expected 3 arguments: found 2$ x",
        "drwx------ means the owner may enter",
        "chown user file, chown -R app:app /srv",
        "user:x:1000:1000::/:/bin/sh",
    ]:
        with subtests.test(text=text):
            assert_kept(text)
