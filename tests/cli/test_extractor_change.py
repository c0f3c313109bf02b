"""A run never uses another extractor than the user means."""

from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.provider import FakeProvider

MEANT_FOR_A_MODEL: list[tuple[tuple[str, ...], dict[str, str], str]] = [
    (("--budget", "5usd"), {}, "`budget.usd` needs a model"),
    (("--budget", "200k tokens"), {}, "`budget.tokens` needs a model"),
    (("--preprocessing", "Look at the colours only."), {}, "`extraction.preprocessing_prompt`"),
    (("--reflexion", "1"), {}, "`extraction.reflexion` needs a model"),
    ((), {"TURNETL_LLM__MODEL": "canned"}, "`llm.model` needs a model"),
    ((), {"TURNETL_LLM__API_KEY": "key", "TURNETL_LLM__PROVIDER": "none"}, "`llm.api_key`"),
    ((), {"TURNETL_BUDGET__USD": "5usd"}, "`budget.usd`"),
    ((), {"TURNETL_EXTRACTION__KINDS__ERROR_HEAVY": "error-heavy-turn.md"}, "preprocessing_prompt"),
]


def ingest(folder: Path, provider: FakeProvider | None, *arguments: str) -> CommandResult:
    """Backfill the archive of the folder, with the canned model or without a model."""
    environment = model_environment(provider) if provider else {}
    return run_in_process("backfill", "archives", *arguments, folder=folder, **environment)


def add_session(folder: Path, name: str) -> None:
    prompt = f"Look again at the shop, please: `{name}.py` uses `sqlite`."
    rows = conversation(prompt, session=name, at=SESSION_START)
    write_archive(folder / "archives" / f"{name}.jsonl", rows)


def committed(folder: Path) -> list[tuple[str, str | None, int]]:
    (group,) = run_in_process("status", "--json", folder=folder).json["groups"]
    return [(use["extractor"], use["model"], use["committed"]) for use in group["extractors"]]


def test_a_run_that_is_meant_for_a_model_and_has_none_is_refused_and_writes_nothing(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    for arguments, environment, message in MEANT_FOR_A_MODEL:
        for command in (("backfill", "a.jsonl"), ("ingest",), ("retry",)):
            with subtests.test(command=command, message=message):
                result = run_in_process(*command, *arguments, folder=tmp_path, **environment)
                assert result.exit_code == 2
                assert message in result.messages[0]
                assert "set TURNETL_LLM__PROVIDER" in result.messages[0]
                assert "`--extractor structural`" in result.messages[0]
                assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.full
def test_what_the_structural_extractor_ignores_and_what_is_switched_off_need_no_model(
    tmp_path: Path,
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    named = ("--extractor", "structural", "--budget", "5usd", "--reflexion", "1")
    environment = {"TURNETL_LLM__MODEL": "canned"}
    done = run_in_process("backfill", "a.jsonl", *named, folder=tmp_path, **environment)
    assert done.exit_code == 0
    assert committed(tmp_path) == [("structural", None, 1)]
    off = ("--preprocessing", "none", "--reflexion", "0", "--budget", "none")
    write_session(tmp_path / "a.jsonl", 2)
    assert run_in_process("backfill", "a.jsonl", *off, folder=tmp_path).exit_code == 0
    assert committed(tmp_path) == [("structural", None, 2)]


@pytest.mark.full
@pytest.mark.parametrize("model_first", [True, False])
def test_a_group_is_continued_by_another_extractor_only_if_it_is_named(
    model_first: bool, provider: FakeProvider, tmp_path: Path
) -> None:
    first, second = (provider, None) if model_first else (None, provider)
    name, other = ("llm", "structural") if model_first else ("structural", "llm")
    add_session(tmp_path, "one")
    assert ingest(tmp_path, first).exit_code == 0
    add_session(tmp_path, "two")
    provider.requests.clear()
    refused = ingest(tmp_path, second, "--json")
    assert refused.exit_code == 1
    (group,) = refused.json["groups"]
    assert f"was filled with the extractor `{name}`" in group["error"]
    assert f"`--extractor {name}` or `--extractor {other}`" in group["error"]
    assert (group["pending"], group["committed"]) == (1, 0)
    assert provider.requests == []
    assert ingest(tmp_path, second, "--extractor", other).exit_code == 0
    model = "openai-compatible/canned"
    made = {"llm": ("llm", model, 1), "structural": ("structural", None, 1)}
    assert committed(tmp_path) == [made[name], made[other]]
    add_session(tmp_path, "three")
    assert ingest(tmp_path, second).exit_code == 0


@pytest.mark.full
def test_other_groups_are_ingested_beside_a_refused_one_and_a_dry_run_says_the_same(
    provider: FakeProvider, tmp_path: Path
) -> None:
    add_session(tmp_path, "one")
    assert ingest(tmp_path, provider).exit_code == 0
    assert ingest(tmp_path, None).exit_code == 0, "there is nothing to ingest"
    shown = run_in_process("status", "--verbose", folder=tmp_path).stdout
    assert "(filled with: llm openai-compatible/canned)" in " ".join(shown.split())
    add_session(tmp_path, "two")
    rows = conversation("Add a shelf", session="s9", at=SESSION_START)
    write_archive(
        tmp_path / "archives" / "new.jsonl",
        [row.replace("/home/dev/shop", "/home/dev/library") for row in rows],
    )
    for arguments, new in ((("--dry-run", "--json"), 0), (("--json",), 1)):
        result = ingest(tmp_path, None, *arguments)
        groups = {group["group"]: group for group in result.json["groups"]}
        assert result.exit_code == 1
        assert "filled with the extractor `llm`" in groups["shop"]["error"]
        assert (groups["library"]["error"], groups["library"]["committed"]) == (None, new)
