"""A report with `--redact-personal`: placeholders in every text, ids and numbers as they were."""

from dataclasses import replace

from tests.activity_report.rows import full_report
from turnetl.activity_report.model import ReportedTurn
from turnetl.activity_report.personal import replaced_values, values_of, without_personal_data
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor(b"key", pii=True)
ADDRESS = "kim.lee@shop-of-kim.com"


def test_an_address_is_redacted_in_every_text() -> None:
    report = without_personal_data(full_report(f"mail {ADDRESS}"), REDACTOR)
    ids = {turn.turn_id for turn in values_of(report, ReportedTurn)}
    ids |= {run.run_id for run in report.own_cost.runs.items}
    texts = [text for text in values_of(report, str) if text not in ids]
    assert len(texts) > 50
    assert not [text for text in texts if "kim.lee" in text]
    assert any("[REDACTED:" in text for text in texts)


def test_the_user_in_the_path_of_an_archive_is_redacted_and_its_line_stays() -> None:
    report = full_report()
    path = "/home/kimlee/.claude/projects/-home-kimlee-shop/s1.jsonl"
    named = replaced_values(report, {"archive": lambda _: path}, lambda text: text)
    found = without_personal_data(named, REDACTOR)
    archives = {turn.archive for turn in values_of(found, ReportedTurn)}
    [archive] = archives
    assert "kimlee" not in archive
    assert archive.startswith("/home/[REDACTED:")
    assert archive.endswith("s1.jsonl")
    assert {turn.first_line for turn in values_of(found, ReportedTurn)} == {3}


def test_a_report_without_personal_data_stays_as_it_is() -> None:
    report = full_report("fixed the cart")
    assert without_personal_data(report, REDACTOR) == report


def test_every_text_of_a_report_can_be_found_and_replaced() -> None:
    report = full_report("a")
    changed = replaced_values(report, {}, lambda text: f"{text}!")
    before, after = list(values_of(report, str)), list(values_of(changed, str))
    assert after == [f"{text}!" for text in before]
    assert replace(changed.scope, lake="a", graph="a", groups=("a",)) == report.scope
