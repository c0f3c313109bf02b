"""`turnetl templates compare` as users type it."""

import hashlib
import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, clean_environment, command_line, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.canned_responses import RESPONDERS, Json
from tests.servers.provider import FakeProvider, Fault

BROAD, NARROW = "Keep everything that the turn states.", "Skip every database."
TURNS = 4


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two templates and a lake of four turns, which are not ingested."""
    folder = tmp_path_factory.mktemp("filtered")
    write_session(folder / "a.jsonl", TURNS)
    templates = folder / ".graphiti" / "templates"
    templates.mkdir(parents=True)
    (templates / "broad.md").write_text(BROAD)
    (folder / "narrow.md").write_text(NARROW)
    run_in_process("parse", "a.jsonl", folder=folder)
    assert run_in_process("filter", folder=folder).exit_code == 0
    return folder


@pytest.fixture
def lake(filtered: Path, provider: FakeProvider, tmp_path: Path) -> Path:
    """Return a copy of that folder. The model finds no fact with the narrow template."""
    shutil.copytree(filtered, tmp_path, dirs_exist_ok=True)
    provider.responders = {**RESPONDERS, "edges": unless_narrow("edges")}
    return tmp_path


def unless_narrow(field: str) -> Callable[[str], Json]:
    def respond(prompt: str) -> Json:
        return {field: []} if NARROW in prompt else RESPONDERS[field](prompt)

    return respond


def compare(folder: Path, provider: FakeProvider, *arguments: str, **more: str) -> CommandResult:
    environment = model_environment(provider, **more)
    return run_in_process("templates", "compare", *arguments, folder=folder, **environment)


def content(folder: Path) -> dict[str, str]:
    """Return the digest of each file below a folder but the journal's."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("journal.sqlite")
    }


@pytest.mark.full
def test_both_templates_are_shown_side_by_side_and_a_second_run_pays_for_nothing(
    lake: Path, provider: FakeProvider
) -> None:
    result = compare(lake, provider, "broad.md", "./narrow.md", "--json")
    assert result.exit_code == 0, result.stderr
    output = result.json
    broad, narrow = output["templates"]
    assert (output["group"], output["status"], len(output["turns"])) == ("shop", "complete", TURNS)
    assert (broad["facts"], narrow["facts"]) == (TURNS, 0)
    assert broad["entities"] == narrow["entities"] == TURNS + 1
    assert [fact["text"] for fact in broad["only_facts"]] == [
        f"part{number}.py uses sqlite" for number in range(TURNS)
    ]
    assert narrow["only_facts"] == []
    assert broad["dates"] == {"undated": 0, "within": TURNS, "before": 0, "after": 0}
    assert broad["usage"]["calls"] > narrow["usage"]["calls"] > 0
    assert broad["path"].endswith(".graphiti/templates/broad.md")
    sent = len(provider.requests)
    assert sum(usage["calls"] for usage in output["paid"].values()) == sent
    second = compare(lake, provider, "broad.md", "./narrow.md", "--json").json
    assert (second["paid"], len(provider.requests)) == ({}, sent)
    assert [one["usage"]["calls"] for one in second["templates"]] == [
        one["usage"]["calls"] for one in output["templates"]
    ]
    assert not list(lake.rglob("graph.lbug*"))
    assert not list(lake.rglob("index"))


@pytest.mark.full
def test_an_ingest_pays_nothing_again_for_the_extraction_of_compared_turns(
    lake: Path, provider: FakeProvider
) -> None:
    compare(lake, provider, "broad.md", "none")
    sent = len(provider.requests_for("extracted_entities"))
    environment = model_environment(provider)
    ingested = run_in_process("ingest", "--preprocessing", "broad.md", folder=lake, **environment)
    assert ingested.exit_code == 0
    assert len(provider.requests_for("extracted_entities")) == sent


@pytest.mark.full
def test_nothing_but_the_journal_is_written(lake: Path, provider: FakeProvider) -> None:
    environment = model_environment(provider)
    assert run_in_process("ingest", "--limit", "2", folder=lake, **environment).exit_code == 0
    run_in_process("search", "shop", folder=lake)
    status = run_in_process("status", "--json", folder=lake, **environment).json
    files = content(lake)
    assert compare(lake, provider, "broad.md", "narrow.md").exit_code == 0
    assert content(lake) == files
    after = run_in_process("status", "--json", folder=lake, **environment).json
    # The journal tells what the comparison cost.
    assert after.pop("spent")["calls"] > status.pop("spent")["calls"]
    assert after == status


def test_labelled_facts_give_precision_and_recall_and_a_private_page(
    lake: Path, provider: FakeProvider
) -> None:
    (lake / "facts.tsv").write_text(
        "turn\tfact\tsource\n"
        "a.jsonl:1\tpart0.py uses sqlite\tpart0.py\n"
        "a.jsonl:3\tpart1.py was written in the mountains of Peru\t\n"
    )
    options = ("--expect", "facts.tsv", "--output", "page.html")
    output = compare(lake, provider, "broad.md", "narrow.md", *options, "--json").json
    broad, narrow = (one["labels"] for one in output["templates"])
    assert (broad["recall"], broad["precision"], broad["facts"]) == (0.5, 0.5, 2)
    assert [one["found"] for one in broad["labels"]] == [True, False]
    assert (narrow["recall"], narrow["precision"]) == (0, None)
    page = lake / "page.html"
    text = page.read_text()
    assert "part0.py uses sqlite" in text
    assert "Facts that only A found: 4" in text
    assert "Labels found: 1 of 2" in text
    assert page.stat().st_mode & 0o777 == 0o600


@pytest.mark.full
def test_labels_come_first_in_the_sample(lake: Path, provider: FakeProvider) -> None:
    (lake / "facts.tsv").write_text("turn\tfact\na.jsonl:5\tpart2.py uses sqlite\n")
    arguments = ("broad.md", "narrow.md", "--expect", "facts.tsv", "--sample", "1", "--json")
    for seed in ("0", "1", "2"):
        output = compare(lake, provider, *arguments, "--seed", seed).json
        assert [turn["first_line"] for turn in output["turns"]] == [5]


def test_a_bad_file_of_labels_is_refused_with_its_line(
    subtests: pytest.Subtests, lake: Path, provider: FakeProvider
) -> None:
    for table, message in (
        (b"turn\tfact\n", "has no row below its first line"),
        (b"question\tfact\nx\ty\n", "has no columns `turn` and `fact`"),
        (b"turn\tfact\na.jsonl:1\n", "line 2: a row needs a turn"),
        (
            b"turn\tfact\na.jsonl:1\tok\nelsewhere.jsonl:1\tyes\n",
            "line 3: no turn has the id or the archive line `elsewhere.jsonl:1`",
        ),
        (b"\xff\xfe\x00", "is no table of UTF-8 text"),
    ):
        with subtests.test(message=message):
            (lake / "facts.tsv").write_bytes(table)
            result = compare(lake, provider, "broad.md", "none", "--expect", "facts.tsv")
            assert result.exit_code == 2
            assert "`facts.tsv`" in result.messages[0]
            assert message in result.messages[0]
    assert provider.requests == []


def test_wrong_arguments_are_refused_before_a_request_is_sent(
    subtests: pytest.Subtests, lake: Path, provider: FakeProvider
) -> None:
    (lake / "copy.md").write_text(BROAD)
    (lake / "empty.md").write_text(" \n")
    for arguments, message in (
        (("broad.md", "broad.md"), "`broad.md` and `broad.md` have the same instructions"),
        (("none", "off"), "`none` and `none` have the same instructions"),
        (("broad.md", "./copy.md"), "have the same instructions"),
        (("broad.md", "brod.md"), "no template `brod.md` in"),
        (("./nowhere.md", "broad.md"), "nowhere.md` cannot be read"),
        (("./empty.md", "broad.md"), "is empty"),
        (("broad.md", "none", "--group", "nowhere"), "there is no group `nowhere`"),
        (("broad.md", "none", "--output", "nowhere/page.html"), "in a folder that does not exist"),
        (("broad.md", "none", "--sample", "0"), "sample"),
        (("broad.md", "none", "--budget", "much"), "much"),
        (
            ("broad.md", "none", "--extractor", "structural"),
            "use --extractor llm, or hybrid",
        ),
    ):
        with subtests.test(arguments=arguments):
            result = compare(lake, provider, *arguments)
            assert result.exit_code == 2
            assert message in result.stderr.replace("\n", " ")
    assert provider.requests == []


def test_without_a_model_or_a_journal_the_message_says_what_is_needed(
    lake: Path, provider: FakeProvider
) -> None:
    result = run_in_process("templates", "compare", "broad.md", "none", folder=lake)
    assert result.exit_code == 2
    (message,) = result.messages
    assert message == (
        "turnetl: a comparison of templates needs a model, which reads their instructions, and "
        "this run would use none: set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and "
        "TURNETL_LLM__API_KEY"
    )
    unstored = compare(lake, provider, "broad.md", "none", JOURNAL="false")
    assert (unstored.exit_code, "needs the journal" in unstored.messages[0]) == (2, True)


@pytest.mark.full
def test_a_group_is_named_if_the_lake_has_several(lake: Path, provider: FakeProvider) -> None:
    write_archive(lake / "b.jsonl", conversation("Add a cart", session="s9", at=SESSION_START))
    run_in_process("parse", "b.jsonl", "--group", "other", folder=lake)
    run_in_process("filter", folder=lake)
    refused = compare(lake, provider, "broad.md", "none")
    assert refused.exit_code == 2
    assert "name it with --group; existing groups: other, shop" in refused.messages[0]
    assert compare(lake, provider, "broad.md", "none", "--group", "shop").exit_code == 0


def test_a_group_without_a_turn_to_compare_says_why(provider: FakeProvider, tmp_path: Path) -> None:
    write_archive(tmp_path / "a.jsonl", conversation("Add a cart to the shop"))
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    result = compare(tmp_path, provider, "default-session-turn.md", "none")
    assert result.exit_code == 2
    assert "group `shop` has no turn to compare: 1 no_time" in result.messages[0]
    timed = compare(
        tmp_path, provider, "default-session-turn.md", "none", "--assume-time", "2026-01-01"
    )
    assert timed.exit_code == 0


def test_a_lake_without_turns_or_without_a_filter_is_refused(
    provider: FakeProvider, tmp_path: Path
) -> None:
    templates = ("default-session-turn.md", "none")
    empty = compare(tmp_path, provider, *templates)
    assert empty.exit_code == 2
    assert "has no turns: run `turnetl parse ARCHIVES`" in empty.messages[0]
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    result = compare(tmp_path, provider, *templates)
    assert result.exit_code == 1
    assert "run `turnetl filter`" in result.messages[0]


def test_a_damaged_table_is_refused_before_a_request_is_sent(
    lake: Path, provider: FakeProvider
) -> None:
    (table,) = lake.rglob("episodes/shop.parquet")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 0xFF
    table.chmod(0o600)
    table.write_bytes(data)
    result = compare(lake, provider, "broad.md", "none")
    assert result.exit_code == 1
    assert "run `turnetl filter`" in result.messages[0]
    assert provider.requests == []
    run_in_process("filter", folder=lake)
    assert compare(lake, provider, "broad.md", "none").exit_code == 0


@pytest.mark.full
def test_a_budget_ends_it_between_turns_and_the_same_command_continues(
    lake: Path, provider: FakeProvider
) -> None:
    provider.counts_text = True
    whole = compare(lake, provider, "broad.md", "narrow.md", "--sample", "1", "--json").json
    tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in whole["paid"].values())
    stopped = compare(
        lake, provider, "broad.md", "narrow.md", "--json", "--budget", f"{3 * tokens} tokens"
    )
    assert stopped.exit_code == 4
    output = stopped.json
    assert output["status"] == "stopped"
    assert 0 < len(output["turns"]) < TURNS
    assert output["templates"][0]["facts"] == len(output["turns"])
    assert "the same command continues" in stopped.messages[0]
    sent = len(provider.requests)
    assert compare(lake, provider, "broad.md", "narrow.md").exit_code == 0
    assert len(provider.requests) > sent
    assert len({json.dumps(one.body, sort_keys=True) for one in provider.requests}) == len(
        provider.requests
    )


def test_a_turn_that_one_template_cannot_ingest_is_part_of_neither_side(
    lake: Path, provider: FakeProvider
) -> None:
    def refuses(prompt: str) -> Json:
        if NARROW in prompt and "part1.py" in prompt:
            return {"extracted_entities": "none"}
        return RESPONDERS["extracted_entities"](prompt)

    provider.responders = {**RESPONDERS, "extracted_entities": refuses}
    result = compare(lake, provider, "broad.md", "narrow.md", "--json")
    assert result.exit_code == 0
    broad, narrow = result.json["templates"]
    assert len(result.json["turns"]) == TURNS - 1
    assert (len(broad["failed"]), len(narrow["failed"])) == (0, 1)
    assert broad["facts"] == narrow["facts"] == TURNS - 1
    assert "cannot be ingested with B, `narrow.md`" in result.messages[0]


def test_a_key_that_is_refused_ends_it(lake: Path, provider: FakeProvider) -> None:
    provider.faults = [Fault(401, '{"error": {"message": "invalid key"}}')] * 20
    result = compare(lake, provider, "broad.md", "narrow.md")
    assert result.exit_code == 1
    assert "invalid key" in result.messages[-1]


def test_noise_patterns_of_a_template_are_removed_from_its_turns_only(
    lake: Path, provider: FakeProvider
) -> None:
    (lake / "quiet.md").write_text(f"---\nnoise_patterns:\n  - 'Done:.*'\n---\n{BROAD}\n")
    compare(lake, provider, "broad.md", "quiet.md", "--sample", "1")
    texts = [
        text
        for request in provider.requests_for("extracted_entities")
        for role, text in request.messages
        if role == "user"
    ]
    assert sorted("Done:" in text for text in texts) == [False, True]


def running(folder: Path, provider: FakeProvider) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command_line("templates", "compare", "broad.md", "narrow.md"),
        cwd=folder,
        env=clean_environment(folder) | model_environment(provider),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.full
@pytest.mark.parametrize("requests", [1, 12])
def test_a_killed_comparison_leaves_nothing_but_paid_responses(
    requests: int, lake: Path, provider: FakeProvider
) -> None:
    environment = model_environment(provider)
    assert run_in_process("ingest", "--limit", "1", folder=lake, **environment).exit_code == 0
    while provider.arrived.acquire(blocking=False):
        pass
    status = run_in_process("status", "--json", folder=lake, **environment).json
    files = content(lake)
    with running(lake, provider) as process:
        for _ in range(requests):
            assert provider.arrived.acquire(timeout=60)
        process.kill()
    assert content(lake) == files
    killed = run_in_process("status", "--json", folder=lake, **environment).json
    assert killed.pop("spent")["calls"] >= status.pop("spent")["calls"]
    assert killed == status
    after = compare(lake, provider, "broad.md", "narrow.md", "--json")
    assert after.exit_code == 0
    assert [one["facts"] for one in after.json["templates"]] == [TURNS, 0]
    sent = len(provider.requests)
    assert compare(lake, provider, "broad.md", "narrow.md").exit_code == 0
    assert len(provider.requests) == sent


@pytest.mark.full
def test_an_interrupted_comparison_continues_with_what_is_paid_for(
    lake: Path, provider: FakeProvider
) -> None:
    files = content(lake)
    provider.hold = threading.Event()
    with running(lake, provider) as process:
        assert provider.arrived.acquire(timeout=60)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "waiting up to 30 s for responses" in process.stderr.readline()
        provider.hold.set()
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in stderr
    assert content(lake) == files
    assert compare(lake, provider, "broad.md", "narrow.md").exit_code == 0
    bodies = [json.dumps(one.body, sort_keys=True) for one in provider.requests]
    assert len(set(bodies)) == len(bodies)


@pytest.mark.full
def test_equal_seeds_draw_equal_turns(tmp_path: Path, provider: FakeProvider) -> None:
    rows = [
        row
        for number in range(12)
        for row in conversation(
            "Look at the shop. " + "x y z " * 50 * number,
            session=f"s{number}",
            at=SESSION_START + timedelta(hours=number),
        )
    ]
    write_archive(tmp_path / "a.jsonl", rows)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)

    def turns(seed: int) -> list[str]:
        result = compare(
            *(tmp_path, provider, "default-session-turn.md", "none", "--json"),
            *("--sample", "4", "--seed", str(seed)),
        )
        return [turn["turn_id"] for turn in result.json["turns"]]

    assert turns(1) == turns(1)
    assert len({tuple(turns(seed)) for seed in range(4)}) > 1


def test_a_turn_is_extracted_with_the_turns_before_it_in_its_session(
    provider: FakeProvider, tmp_path: Path
) -> None:
    prompts = [f"Look at the shop: `part{number}.py` uses `sqlite`." for number in range(3)]
    write_archive(tmp_path / "a.jsonl", conversation(*prompts, at=SESSION_START))
    (tmp_path / "facts.tsv").write_text("turn\tfact\na.jsonl:5\tpart2.py uses sqlite\n")
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    options = ("--sample", "1", "--expect", "facts.tsv")
    template = "default-session-turn.md"
    assert compare(tmp_path, provider, template, "none", *options).exit_code == 0
    requests = provider.requests_for("extracted_entities")
    assert len(requests) == 2
    for request in requests:
        text = " ".join(text for _, text in request.messages)
        assert all(f"part{number}.py" in text for number in range(3))


@pytest.mark.full
def test_facts_of_structure_are_in_both_groups_with_the_hybrid_extractor(
    lake: Path, provider: FakeProvider
) -> None:
    arguments = ("broad.md", "narrow.md", "--extractor", "hybrid", "--json")
    output = compare(lake, provider, *arguments).json
    assert output["extractor"] == "hybrid"
    broad, narrow = output["templates"]
    assert broad["facts"] - narrow["facts"] == TURNS
