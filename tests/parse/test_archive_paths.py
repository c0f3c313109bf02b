"""The path of an archive is stored without secrets, and still leads to the archive."""

from pathlib import Path

import polars as pl
import pytest

from tests.parse.parse_runs import one_turn, outcomes, row, run
from tests.redact.canaries import fresh
from turnetl.base.errors import BadArchive
from turnetl.lake import Lake
from turnetl.parsing.archive_paths import find_archive, is_redacted
from turnetl.parsing.grouping import load_grouping
from turnetl.redact import SecretRedactor
from turnetl.redact.port import is_plain

REDACTOR = SecretRedactor(b"key")
PERSONAL = SecretRedactor(b"key", pii=True)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def stored_name(lake: Lake) -> str:
    """Return the only path of an archive that the lake has, in metadata and in all rows."""
    (file,) = lake.turn_files()
    assert pl.read_parquet(file.path)["archive"].unique().to_list() == [file.metadata.archive]
    return file.metadata.archive


def secret_names() -> list[str]:
    token, password = "ghp_" + fresh(36), fresh(14)
    return [
        f"{token}/a.jsonl",
        f"x/{token}.jsonl",
        f"password={password}/api_key={token}/a.jsonl",
        f"deep/{token}/{token}/password={password}.jsonl",
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_secret_in_the_path_is_cut_and_the_name_leads_to_the_file(
    tmp_path: Path, lake: Lake, number: int
) -> None:
    name = secret_names()[number]
    archive = write(tmp_path / name, one_turn())
    report = run(lake, archive, redactor=REDACTOR)
    stored = stored_name(lake)
    assert is_redacted(stored)
    assert stored.endswith(".jsonl")
    assert report.archives[0].archive == stored
    assert find_archive(stored, REDACTOR.stands_for) == archive
    assert outcomes(run(lake, archive, redactor=REDACTOR)) == ["unchanged"]


def test_a_redacted_path_leads_nowhere_without_the_file_or_with_another_key(
    tmp_path: Path, lake: Lake
) -> None:
    archive = write(tmp_path / secret_names()[0], one_turn())
    write(tmp_path / secret_names()[0], one_turn())
    run(lake, archive, redactor=REDACTOR)
    with pytest.raises(BadArchive, match="parts of its path are redacted"):
        find_archive(stored_name(lake), SecretRedactor(b"other").stands_for)
    archive.unlink()
    with pytest.raises(BadArchive, match="no file has such a path"):
        find_archive(stored_name(lake), REDACTOR.stands_for)


def test_a_path_without_secrets_stays_as_it_is(tmp_path: Path, lake: Lake) -> None:
    archive = write(tmp_path / "secret-santa" / "token-tool" / "a.jsonl", one_turn())
    run(lake, archive, redactor=REDACTOR)
    assert stored_name(lake) == str(archive)
    assert find_archive(str(archive), REDACTOR.stands_for) == archive


def test_with_pii_no_user_is_in_the_path_or_the_branch(tmp_path: Path, lake: Lake) -> None:
    text = one_turn() + row("user", "Push.", "p1", cwd="/home/jane/jane/shop", gitBranch="mia/cart")
    folder = tmp_path / "home" / "jane" / "projects" / "-home-jane-shop"
    archive = write(folder / "a@2.jsonl", text)
    run(lake, archive, redactor=PERSONAL)
    stored = stored_name(lake)
    assert "jane" not in stored
    assert stored.endswith("-shop/a@2.jsonl")
    assert find_archive(stored, PERSONAL.stands_for) == archive
    rows = pl.read_parquet(lake.turn_paths()[0])
    assert "jane" not in str(rows.to_dicts())
    assert rows["cwd"][1].endswith("]/shop")
    assert rows["git_branch"][1].endswith("]/cart")
    assert rows["git_branch"][1].startswith("[REDACTED:person:")
    run(lake, archive, redactor=REDACTOR)
    assert stored_name(lake) == str(archive)


def test_turns_that_an_archive_lost_get_the_new_name_of_its_path(
    tmp_path: Path, lake: Lake
) -> None:
    archive = write(tmp_path / "home" / "jane" / "a.jsonl", one_turn() + one_turn("Push.", "p1"))
    run(lake, archive, redactor=REDACTOR)
    write(archive, row("user", "Push.", "p1", cwd="/home/jane/shop"))
    run(lake, archive, redactor=PERSONAL)
    assert lake.turn_files()[0].metadata.retained_turns == 1
    assert "jane" not in stored_name(lake)


def test_ids_of_turns_do_not_depend_on_the_key_and_sessions_stay_apart(tmp_path: Path) -> None:
    tokens = ["ghp_" + fresh(36) for _ in range(2)]
    text = (
        "".join(row("user", "Push.", f"p-{token}", sessionId=f"s-{token}") for token in tokens)
        + one_turn()
    )
    archive = write(tmp_path / "a.jsonl", text)
    tables = []
    for key in (b"a", b"b"):
        lake = Lake(tmp_path / key.decode())
        run(lake, archive, redactor=SecretRedactor(key))
        tables.append(pl.read_parquet(lake.turn_paths()[0]))
    assert tables[0]["turn_id"].to_list() == tables[1]["turn_id"].to_list()
    assert tables[0]["session_id"].n_unique() == 3
    assert tables[0]["redactions"].to_list() == [2, 3, 1]
    assert not any(token in str(tables[0].to_dicts()) for token in tokens)


def test_the_group_map_sees_the_whole_path(tmp_path: Path, lake: Lake) -> None:
    name = secret_names()[0]
    archive = write(tmp_path / name, one_turn())
    pattern = f"{tmp_path}/{Path(name).parent}"
    entry = f'[[group]]\nname = "mapped"\narchives = ["{pattern}"]\n'
    grouping = load_grouping(None, write(tmp_path / "map.toml", entry), user="me", host="desk")
    for outcome in ("new", "unchanged"):
        report = run(lake, archive, redactor=REDACTOR, grouping=grouping)
        assert (outcomes(report), report.groups) == ([outcome], ("mapped",))
        assert report.archives[0].group_is_intended


def test_problems_name_no_secret(tmp_path: Path, lake: Lake) -> None:
    secrets = [fresh(36) for _ in range(3)]
    archives = [
        write(tmp_path / f"ghp_{secrets[0]}.jsonl", "bread, milk\n"),
        write(tmp_path / f"ghp_{secrets[1]}" / "a.jsonl", one_turn() + '{"type": "us'),
        tmp_path / f"ghp_{secrets[2]}" / "missing.jsonl",
    ]
    report = run(lake, *archives, redactor=REDACTOR)
    assert len(report.problems) == 3
    assert not any(secret in str(report) for secret in secrets)


@pytest.mark.parametrize(
    "path",
    [
        "/home/dev/.claude/projects/-home-dev-shop/0b8c1f9e-1c1e-4e59-9a55-0a2f6a1f3c11.jsonl",
        "/home/dev/.codex/sessions/2026/03/rollout-2026-03-02T09-00-00-a.jsonl",
        "notes/émile/x.json",
    ],
)
def test_paths_of_agents_are_plain(path: str) -> None:
    assert is_plain(path)
    assert REDACTOR.redact([path]).texts == [path]


@pytest.mark.parametrize(
    "name",
    ["ghp_" + fresh(36), "password=sunshine", "the password is x", "a" * 16, "AKIA" + fresh(16)],
    ids=["token", "assignment", "sentence", "run", "key id"],
)
def test_names_that_may_hold_a_secret_are_not_plain(name: str) -> None:
    assert not is_plain(f"/home/dev/{name}/a.jsonl")
