"""The stoplist: discarded names, and names that only look like them."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ingest import kept_episodes
from tests import real_archives
from turnetl.extraction import stoplist
from turnetl.extraction.structural.extractor import extract_findings
from turnetl.extraction.structural.findings import COMMIT

DISCARDED = {
    "temporary_path": (
        "/tmp/x81/out.json",  # noqa: S108 - nothing is opened
        "file:///tmp/a",
        "/private/var/folders/zz/abc/T/x",
        r"C:\Users\dev\AppData\Local\Temp\a.log",
        "$TMPDIR/build",
        "tmpab12cd34",
    ),
    "process_id": ("PID 48213", "process id: 77", "pid=12", "thread 4"),
    "run_id": (
        "run 42",
        "Build #1803",
        "toolu_01AbC12dEfGhIjKlMnOpQrSt",
        "session 3f2a9c1e",
        "bash_1a2b3c",
        "job id 991",
    ),
    "uuid": (
        "c93f3533-0f6b-4a61-99bd-7b788208ad61",
        "session C93F3533-0F6B-4A61-99BD-7B788208AD61",
        "2026-01-07-c93f3533-0f6b-4a61-99bd-7b788208ad61.json",
    ),
    "hash": ("3f2a9c1", "commit 5efdc56", "sha256:" + "ab" * 32, "3f2a9c1..5efdc56", "ce1c563..."),
    "line_number": ("line 42", "L42-L60", "L128", "lines 3, 9", "Line 12 of cart.py", "column 7"),
    "port": ("port 8080", ":5432", "localhost:8080", "http://127.0.0.1:3000/", "localhost"),
    "date": (
        "2026-03-02",
        "2026-03-02T10:22:01Z",
        "10:22",
        "March 2nd, 2026",
        "2 March",
        "02/03/2026",
        "5 minutes",
        "30 days",
        "1.5s",
        "last week",
    ),
    "number": ("404", "50%", "3 tests", "12 MB", "1,204", "3/10", "0x7ffe", "~200 lines"),
    "generic_word": (
        "user",
        "The User",
        "`assistant`",
        "Assistant:",
        "code",
        "this file",
        "the session",
        "model",
    ),
    "empty": ("...", "--", ""),
    "too_long": ("a very long sentence " * 30,),
}
KEPT = """
cart.py src/app/main.go tmpfiles.d tmp_path ed25519 sha256 md5 base64 utf-8 x86_64 h264 s3 k8s e2e
face2face p95 i18n 2fa L10n v2.1 2.1 3.11.4 #123 ENT-98 agent_1 run_tests2 call_2fa_handler2 step3
404-page user-service UserService Session Message Task Error500 test_user.py port.py line_number.py
process.env.PORT decade2 c0ffee/ deadbeef .env .data/ port_forward date-fns moment.js uuid-ossp
localhost.run temp_dir number.ts issue-templates hash.js Log4j 7zip 1password build.gradle
2024.10 2024.12.14 3D 2d L1 L2 Model Person Customer Code Bot People
"""


def test_names_of_one_run_or_moment_are_discarded(subtests: pytest.Subtests) -> None:
    for reason, name in [(reason, name) for reason, names in DISCARDED.items() for name in names]:
        with subtests.test(reason=reason):
            assert stoplist.reasons([name]) == [reason]


def test_similar_names_are_kept(subtests: pytest.Subtests) -> None:
    for name in [
        *KEPT.split(),
        "404 Not Found",
        "exit code 1",
        "cart.py:42",
        "the cart page",
        "PR #12",
    ]:
        with subtests.test(name=name):
            assert stoplist.reasons([name]) == [None]


def test_every_check_has_an_example_and_names_are_checked_independently() -> None:
    assert set(DISCARDED) == set(stoplist.CHECKS)
    names = [name for names in DISCARDED.values() for name in names]
    assert stoplist.reasons(names) == [stoplist.reasons([name])[0] for name in names]
    assert stoplist.reasons([]) == []


@given(st.uuids())
def test_every_uuid_is_discarded(uuid: UUID) -> None:
    assert stoplist.reasons([str(uuid), str(uuid).upper()]) == ["uuid", "uuid"]


@given(st.binary(), st.integers(20, 40))
def test_every_digest_is_discarded(content: bytes, length: int) -> None:
    assert stoplist.reasons([hashlib.sha1(content).hexdigest()[:length]]) == ["hash"]  # noqa: S324 - as Git does


@given(st.integers(-(10**15), 10**15), st.datetimes(timezones=st.just(UTC)))
def test_every_number_and_date_is_discarded(number: int, moment: datetime) -> None:
    assert stoplist.reasons([str(number), moment.isoformat(), str(moment.date())]) == [
        "number",
        "date",
        "date",
    ]


WORD = st.from_regex(r"[a-z]{3,9}", fullmatch=True)


@given(st.lists(WORD, min_size=2, max_size=4), st.sampled_from(["py", "go", "tsx", "md"]))
def test_paths_and_identifiers_made_of_words_are_kept(words: list[str], suffix: str) -> None:
    names = [
        f"src/{'/'.join(words)}.{suffix}",
        f"{'_'.join(words)}.{suffix}",
        f"the_{'_'.join(words)}_test",
        f"Get{''.join(word.title() for word in words)}",
        f"--the-{'-'.join(words)}",
    ]
    assert stoplist.reasons(names) == [None] * 5


@pytest.mark.full
@pytest.mark.archives
@real_archives.needs_archives
def test_names_that_the_structural_extractor_finds_in_real_archives_are_kept(
    tmp_path: Path,
) -> None:
    turns = kept_episodes(real_archives.ARCHIVES / "entireio__cli", tmp_path)
    found = {entity for turn in turns for entity in extract_findings(turn, ()).entities}
    # A commit is known by its short hash, which a model copies from any line.
    names = sorted({entity.name for entity in found if entity.label != COMMIT})
    assert len(names) > 100
    discarded = zip(names, stoplist.reasons(names), strict=True)
    assert {name for name, reason in discarded if reason} <= {"user", "prompt"}
