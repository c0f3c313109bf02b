"""`turnetl evaluate` as users type it."""

import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.cli.command import ROOT, CommandResult, clean_environment, command_line, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.canned_responses import RESPONDERS, Json
from tests.servers.provider import FakeProvider

QUESTIONS = "question\tturn\nhow did we get a cart?\ta.jsonl:1\nis a price rounded?\ta.jsonl:3\n"
STAGES = ["lexical", "dense", "fusion", "late_interaction", "search", "session"]


def evaluate(
    folder: Path, *arguments: str, provider: FakeProvider | None = None, **more: str
) -> CommandResult:
    environment = {} if provider is None else model_environment(provider, **more)
    return run_in_process("evaluate", *arguments, folder=folder, **environment)


@pytest.fixture
def asked(shop: Path) -> Path:
    """Return a folder with a graph of two turns, its index, and a file of questions."""
    (shop / "questions.tsv").write_text(QUESTIONS)
    return shop


@pytest.fixture
def writer(provider: FakeProvider) -> FakeProvider:
    """Return a model that writes a question about each turn, and rates each passage alike."""
    provider.responders = {**RESPONDERS, "questions": question, "scores": scores}
    return provider


def question(prompt: str) -> Json:
    return {"questions": ["how did we add a cart?" if "Add a cart" in prompt else "which tests?"]}


def scores(prompt: str) -> Json:
    numbers = range(prompt.count("<PASSAGE") + prompt.count('"passage"') + 10)
    return {"scores": [{"passage": number, "score": 50} for number in numbers]}


@pytest.mark.full
def test_a_file_of_questions_needs_no_model(asked: Path) -> None:
    result = evaluate(asked, "--questions", "questions.tsv", "--json")
    assert result.exit_code == 0, result.stderr
    output = result.json
    assert (output["source"], output["turns"], output["model"]) == ("file", 2, None)
    assert [one["stage"] for one in output["stages"]] == STAGES
    assert [one["questions"] for one in output["stages"]] == [2] * len(STAGES)
    assert output["stages"][-1]["recall_at_5"] == 1.0
    assert [one["group"] for one in output["groups"]] == ["shop"]
    assert output["questions"][0]["ranks"]["search"] == 1
    shown = evaluate(asked, "--questions", "questions.tsv").stdout
    assert "late_interaction" in shown
    assert "2 questions about 2 turns" in shown


@pytest.mark.full
def test_a_question_may_have_several_turns_and_a_turn_may_be_an_id(asked: Path) -> None:
    hits = run_in_process("search", "add a cart", "--json", folder=asked).json["hits"]
    found = hits[0]["turn_id"]
    (asked / "q.tsv").write_text(f"question\tturn\ncart?\t{found}\ncart?\ta.jsonl:3\n")
    (only,) = evaluate(asked, "--questions", "q.tsv", "--json").json["questions"]
    assert found in only["turns"]
    assert len(only["turns"]) == 2


def test_a_model_writes_questions_which_the_journal_keeps(shop: Path, writer: FakeProvider) -> None:
    first = evaluate(shop, "--json", provider=writer)
    assert first.exit_code == 0, first.stderr
    assert (first.json["source"], first.json["usage"]["calls"]) == ("model", 2)
    asked = {one["question"] for one in first.json["questions"]}
    assert asked == {"how did we add a cart?", "which tests?"}
    again = evaluate(shop, "--json", provider=writer)
    assert again.json["usage"]["calls"] == 0
    assert again.json["questions"] == first.json["questions"]
    assert len(writer.requests) == 2
    stats = run_in_process("journal", "stats", "--json", folder=shop).json
    assert "evaluate.questions" in json.dumps(stats)
    # They are not those of the index.
    assert run_in_process("index", "--json", folder=shop).json["turns_with_questions"] == 0


def test_the_order_of_a_model_is_a_stage_of_its_own_which_a_budget_ends(
    asked: Path, writer: FakeProvider
) -> None:
    arguments = ("--questions", "questions.tsv", "--rerank", "--json")
    stopped = evaluate(asked, *arguments, "--budget", "10 tokens", provider=writer)
    assert stopped.exit_code == 4
    counts = {one["stage"]: one["questions"] for one in stopped.json["stages"]}
    assert counts == {**dict.fromkeys(STAGES, 2), "reranking": 0}
    output = evaluate(asked, *arguments, provider=writer).json
    assert [one["stage"] for one in output["stages"]] == [*STAGES, "reranking"]
    assert output["stages"][-1]["questions"] == 2
    assert output["model"] == "openai-compatible/canned"


@pytest.mark.full
def test_a_budget_that_ends_while_questions_are_written_measures_those(
    shop: Path, writer: FakeProvider
) -> None:
    nothing = evaluate(shop, "--budget", "10 tokens", provider=writer)
    assert (nothing.exit_code, writer.requests) == (4, [])
    whole = evaluate(shop, "--sample", "1", "--json", provider=writer).json
    used = whole["usage"]["prompt_tokens"] + whole["usage"]["completion_tokens"]
    stopped = evaluate(shop, "--json", "--budget", f"{used + 10} tokens", provider=writer)
    assert stopped.exit_code == 4
    assert len(stopped.json["questions"]) == 1
    assert "the same command continues" in stopped.messages[0]
    assert len(evaluate(shop, "--json", provider=writer).json["questions"]) == 2


@pytest.mark.full
def test_a_later_run_is_compared_with_a_saved_one_on_its_questions(asked: Path) -> None:
    saved = evaluate(asked, "--questions", "questions.tsv", "--save", "before.json", "--json").json
    assert json.loads((asked / "before.json").read_text()) == saved
    later = evaluate(asked, "--baseline", "before.json", "--json").json
    assert later["source"] == "baseline"
    assert later["questions"] == saved["questions"]
    assert later["baseline"]["questions"] == 2
    assert later["baseline"]["before"] == later["baseline"]["after"] == saved["stages"]
    assert later["baseline"]["changes"] == []
    worse = {
        **saved,
        "questions": [
            {**one, "ranks": {**one["ranks"], "search": None}} for one in saved["questions"]
        ],
    }
    (asked / "worse.json").write_text(json.dumps(worse))
    changed = evaluate(asked, "--baseline", "worse.json", "--json").json["baseline"]["changes"]
    assert [(one["before"], one["after"]) for one in changed] == [(None, 1), (None, 1)]
    shown = evaluate(asked, "--baseline", "worse.json").stdout
    assert "turns further down than in the baseline: 0; up: 2" in shown


def test_a_file_that_is_no_evaluation_is_refused_as_a_baseline(
    shop: Path, subtests: pytest.Subtests
) -> None:
    for content in ("", "{}", "[1]", '{"questions": []}', "\x00"):
        with subtests.test(content=content):
            (shop / "before.json").write_text(content)
            result = evaluate(shop, "--baseline", "before.json")
            assert result.exit_code == 2
            assert "`before.json` is no evaluation" in result.messages[0]


def test_a_bad_file_of_questions_is_refused_with_its_line(
    shop: Path, subtests: pytest.Subtests
) -> None:
    for table, message in (
        ("question\tturn\n", "has no row below its first line"),
        ("frage\tturn\nwhy?\ta.jsonl:1\n", "has no columns `question` and `turn`"),
        ("question\tturn\nwhy?\n", "line 2: a row needs a question and the turn"),
        ("question\tturn\n\ta.jsonl:1\n", "line 2: a row needs a question and the turn"),
        ("question\tturn\nwhy?\ta.jsonl:1\nwhy?\tb.jsonl:1\n", "line 3: no turn has the id"),
        ("question\tturn\nwhy?\ta.jsonl:77\n", "line 2: no turn has the id or the archive line"),
    ):
        with subtests.test(table=table):
            (shop / "q.tsv").write_text(table)
            result = evaluate(shop, "--questions", "q.tsv")
            assert result.exit_code == 2
            assert "`q.tsv`" in result.messages[0]
            assert message in result.messages[0]


def test_a_saved_evaluation_is_replaced_and_no_other_file_is(asked: Path) -> None:
    arguments = ("--questions", "questions.tsv", "--save")
    for _ in range(2):
        assert evaluate(asked, *arguments, "before.json").exit_code == 0
    questions = (asked / "questions.tsv").read_bytes()
    refused = evaluate(asked, *arguments, "questions.tsv")
    assert refused.exit_code == 2
    assert "is no evaluation of turnetl" in refused.stderr.replace("\n", " ")
    assert (asked / "questions.tsv").read_bytes() == questions


def test_wrong_arguments_are_refused(asked: Path, subtests: pytest.Subtests) -> None:
    for arguments, message in (
        (("--questions", "nowhere.tsv"), "`nowhere.tsv` cannot be read"),
        (("--baseline", "nowhere.json"), "`nowhere.json` cannot be read"),
        (("--questions", "questions.tsv", "--group", "nowhere"), "there is no group `nowhere`"),
        (("--save", "nowhere/a.json"), "in a folder that does not exist"),
        ((), "writes questions with a model, and none is configured"),
        (("--questions", "questions.tsv", "--rerank"), "with a model, and none is configured"),
        (("--sample", "0"), "sample"),
    ):
        with subtests.test(arguments=arguments):
            result = evaluate(asked, *arguments)
            assert result.exit_code == 2
            assert message in result.stderr.replace("\n", " ")


def test_without_a_graph_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "questions.tsv").write_text(QUESTIONS)
    result = evaluate(tmp_path, "--questions", "questions.tsv")
    assert result.exit_code == 1
    assert "there is no graph at" in result.messages[0]


def test_turns_without_a_question_are_counted_with_the_reason(
    shop: Path, writer: FakeProvider
) -> None:
    writer.responders = {**RESPONDERS, "questions": lambda _: {"question": "which tests?"}}
    invalid = evaluate(shop, provider=writer)
    assert invalid.exit_code == 1
    assert "no question about 2 turns: model" in invalid.messages[-1]
    assert "questions: Field required" in invalid.messages[-1]
    writer.responders = {**RESPONDERS, "questions": lambda _: {"questions": []}}
    nothing = evaluate(shop, provider=writer)
    assert nothing.exit_code == 2
    assert "could think of no question about 2 turns" in nothing.messages[0]


@pytest.mark.full
def test_questions_about_other_groups_are_left_out_and_counted(
    filled_samples: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(filled_samples, tmp_path, dirs_exist_ok=True)
    questions = str(ROOT / "data" / "questions.tsv")
    both = evaluate(folder, "--questions", questions, "--json")
    assert [one["group"] for one in both.json["groups"]] == ["bookshop", "shoebox"]
    assert both.json["stages"][-1]["recall_at_10"] == 1.0
    assert both.messages == []
    one = evaluate(folder, "--questions", questions, "--group", "shoebox", "--json")
    assert len(one.json["questions"]) == 4
    assert one.json["turns"] < both.json["turns"]
    assert one.messages == [
        f"turnetl: 9 questions of `{questions}` are about other turns: left out"
    ]
    (folder / "q.tsv").write_text("question\tturn\nwhy?\tbookshop/2026-03-03-checkout.jsonl:3\n")
    none = evaluate(folder, "--questions", "q.tsv", "--group", "shoebox")
    assert none.exit_code == 2
    assert "no question of `q.tsv` is about a turn that is searched" in none.messages[0]


@pytest.mark.full
def test_an_evaluation_that_is_killed_can_be_repeated(shop: Path, writer: FakeProvider) -> None:
    writer.hold = threading.Event()
    environment = clean_environment(shop) | model_environment(writer)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command_line("evaluate"), cwd=shop, env=environment, stdout=quiet, stderr=quiet
    ) as process:
        assert writer.arrived.acquire(timeout=60)
        process.kill()
    writer.hold.set()
    writer.requests.clear()
    assert len(evaluate(shop, "--json", provider=writer).json["questions"]) == 2
    assert len(writer.requests) == 2
    assert evaluate(shop, "--json", provider=writer).json["usage"]["calls"] == 0


def test_the_questions_may_have_a_model_of_their_own(shop: Path, writer: FakeProvider) -> None:
    models = "evaluate.questions=small"
    result = evaluate(shop, "--json", provider=writer, LLM__MODELS=models)
    assert "evaluate.questions=openai-compatible/small" in result.json["model"]
    assert {request.body["model"] for request in writer.requests} == {"small"}
