"""Names of people in Git's output and beside e-mail addresses."""

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted

MAIL = "«email:jane@shop.de»"


def test_names_of_authors_are_redacted(subtests: pytest.Subtests) -> None:
    for marked in [
        f"Author: «author:Jane Doe» <{MAIL}>",
        f"Commit:     «author:jane» <{MAIL}>",
        f"Co-authored-by: «author:Jane Doe» <{MAIL}>\\nSigned-off-by: «author:Jörg Roe» <{MAIL}>",
        "Author: «author:Jane Doe» <«email:12345+jane@users.noreply.github.com»>",
        f"a1b2c3d «author:Jane Doe» <{MAIL}> Fix",
        f"Thanks to «author:Jane van der Doe» <{MAIL}>!",
        "a1b2c3d4 («author:Jane Doe» 2026-01-02 12:00:00 +0100 12) x = 1",
        "^a1b2c3d src/a.py («author:jane» 2026-01-02 12:00:00 +0100  12) x = 1",
        f"author «author:Jane Doe»\nauthor-mail <{MAIL}>\nauthor-time 1700000000",
        "commit a1b2c3d\nAuthor:     «author:Jane Doe»\nDate:",
        "a1b2c3d - «author:Jane Doe», 3 days ago : Fix",
        "a1b2c3d|«author:Jane Doe»|2026-01-02|Fix",
        "a1b2c3d|2026-01-02 12:00:00 +0100|«author:Jane Doe»|Fix",
        "* a1b2c3d - (main) Fix (3 days ago) <«author:Jane Doe»>",
        f'git config user.name "«author:Jane Doe»" && git config user.email {MAIL}',
        f"[user]\n\tname = «author:Jane Doe»\n\temail = {MAIL}",
        f'"author": {{"name": "«author:Jane Doe»", "email": "{MAIL}", "date": "2026-01-02"}}',
        f'authors = [{{name = "«author:Jane Doe»", email = "{MAIL}"}}]',
        f'"author": "«author:Jane Doe» <{MAIL}>"',
        '"author": "«author:Jane Doe»",\n  "license": "MIT"',
        '"authors": ["«author:Jane Doe»"]',
        "git config user.name '«author:jane»'",
        "GIT_AUTHOR_NAME='«author:Jane Doe»'",
        f"From: «author:Jane Doe» &lt;{MAIL}&gt;",
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


def test_programs_and_lookalikes_stay(subtests: pytest.Subtests) -> None:
    for text in [
        '{"title": "Emma", "author": "Jane Austen"}',
        "retrieves user.name and user.email from the configuration",
        "Co-Authored-By: Claude <noreply@anthropic.com>",
        "Co-authored-by: Claude Opus 4.5 <noreply@anthropic.com>",
        "Author: dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>"[:31],
        "Author: Test User <test@example.com>",
        "Author: Your Name <you@example.com>",
        "a1b2c3d Fix the parser\nb2c3d4e Add tests",
        "a1b2c3d (HEAD -> main, origin/main) Merge branch",
        "Author: the one who wrote it. Commit: what changed",
        "const name = a <b@c, if (a <b && b> c)",
        "name: string; email: string; author: Author",
        "async function (Foo 3 days ago) changed 3 days ago",
        "class List<T> { map<K, V>(f: Fn<@NonNull T>) }",
        "author = models.ForeignKey(User) author_name: str",
    ]:
        with subtests.test(text=text):
            assert_kept(text)
