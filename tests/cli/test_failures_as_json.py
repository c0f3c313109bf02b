"""What `--json` prints if the exit code is not 0: the result if there is one, else the error."""

from pathlib import Path

import pytest
from msgspec.structs import fields

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider, Fault
from tests.servers.summary_responses import RESPONDERS
from turnetl.base.result_schema import encoded_type
from turnetl.base.results import ErrorOutput
from turnetl.json_output.schemas import OUTPUTS

BAD_REQUEST = Fault(400, '{"error": {"message": "no such question"}}')

WITH_RESULT = [
    (("parse", "nowhere.jsonl"), 1),
    (("backfill", "nowhere.jsonl"), 1),
    (("backfill", "a.jsonl"), 3),
    (("ingest",), 3),
    (("retry",), 3),
    (("ingest", "--budget", "1 token"), 4),
    (("ingest", "--graph", "ladybug://{folder}/broken.lbug"), 1),
    (("model", "check"), 1),
    (("templates", "check"), 1),
]
WITHOUT_RESULT = [
    (("parse",), 2),
    (("ingest", "--group", "nobody"), 2),
    (("search", "shop", "--graph", "ladybug://{folder}/broken.lbug"), 1),
    (("status", "--graph", "ladybug://{folder}/broken.lbug"), 1),
]


@pytest.fixture
def folder(provider: FakeProvider, tmp_path: Path) -> Path:
    """A lake with turns that the provider refuses; a template and a graph that cannot be used."""
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    template = tmp_path / ".graphiti" / "templates" / "empty.md"
    template.parent.mkdir(parents=True)
    template.write_text("")
    (tmp_path / "broken.lbug").write_text("no graph")
    provider.faults += [BAD_REQUEST] * 20
    provider.responders = {**RESPONDERS, "duplicate_facts": lambda _: {"prose": "I would say so."}}
    return tmp_path


def run(arguments: tuple[str, ...], folder: Path, provider: FakeProvider) -> CommandResult:
    given = [argument.format(folder=folder) for argument in arguments]
    return run_in_process(*given, "--json", folder=folder, **model_environment(provider))


def keys(output: type) -> set[str]:
    return {field.encode_name for field in fields(encoded_type(output))}


@pytest.mark.full
@pytest.mark.parametrize(("arguments", "code"), WITH_RESULT)
def test_a_command_with_a_result_prints_it_with_any_exit_code(
    arguments: tuple[str, ...], code: int, folder: Path, provider: FakeProvider
) -> None:
    result = run(arguments, folder, provider)
    command = " ".join(arguments[:2]) if " ".join(arguments[:2]) in OUTPUTS else arguments[0]
    assert result.exit_code == code, result.stderr
    assert set(result.json) == keys(OUTPUTS[command][0])


@pytest.mark.parametrize(("arguments", "code"), WITHOUT_RESULT)
def test_a_command_without_a_result_prints_its_error(
    arguments: tuple[str, ...], code: int, folder: Path, provider: FakeProvider
) -> None:
    result = run(arguments, folder, provider)
    assert result.exit_code == code, result.stderr
    assert set(result.json) == keys(ErrorOutput)
