"""What `--json` prints if the exit code is not 0: the result if there is one, else the error."""

import shutil
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

WITH_RESULT = (
    (("backfill", "nowhere.jsonl"), 1),
    (("backfill", "a.jsonl"), 3),
    (("ingest",), 3),
    (("retry",), 3),
    (("ingest", "--budget", "1 token"), 4),
    (("ingest", "--graph", "ladybug://{folder}/broken.lbug"), 1),
    (("model", "check"), 1),
    (("templates", "check"), 1),
)
WITHOUT_RESULT = (
    (("search", "shop", "--graph", "ladybug://{folder}/broken.lbug"), 1),
    (("status", "--graph", "ladybug://{folder}/broken.lbug"), 1),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lake with turns; a template and a graph that cannot be used. It is only copied."""
    folder = tmp_path / "filled"
    write_session(folder / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=folder)
    run_in_process("filter", folder=folder)
    template = folder / ".graphiti" / "templates" / "empty.md"
    template.parent.mkdir(parents=True)
    template.write_text("")
    (folder / "broken.lbug").write_text("no graph")
    return folder


@pytest.fixture
def refusing(provider: FakeProvider) -> FakeProvider:
    """Return a provider that refuses the turns."""
    provider.responders = {**RESPONDERS, "duplicate_facts": lambda _: {"prose": "I would say so."}}
    return provider


def run(arguments: tuple[str, ...], folder: Path, provider: FakeProvider) -> CommandResult:
    given = [argument.format(folder=folder) for argument in arguments]
    return run_in_process(*given, "--json", folder=folder, **model_environment(provider))


def keys(output: type) -> set[str]:
    return {field.encode_name for field in fields(encoded_type(output))}


@pytest.mark.full
def test_a_command_with_a_result_prints_it_with_any_exit_code(
    folder: Path, refusing: FakeProvider, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for number, (arguments, code) in enumerate(WITH_RESULT):
        with subtests.test(arguments=arguments):
            refusing.faults[:] = [BAD_REQUEST] * 20
            copy = shutil.copytree(folder, tmp_path / str(number))
            result = run(arguments, copy, refusing)
            command = next(name for name in (" ".join(arguments), arguments[0]) if name in OUTPUTS)
            assert result.exit_code == code, result.stderr
            assert set(result.json) == keys(OUTPUTS[command][0])


def test_a_command_without_a_result_prints_its_error(
    folder: Path, refusing: FakeProvider, subtests: pytest.Subtests
) -> None:
    for arguments, code in WITHOUT_RESULT:
        with subtests.test(arguments=arguments):
            result = run(arguments, folder, refusing)
            assert result.exit_code == code, result.stderr
            assert set(result.json) == keys(ErrorOutput)
