"""What changed in the recipes of stale turns, by the name of the part."""

from turnetl.base.ids import RecipePart, RecipeParts, recipe_digest
from turnetl.ingestion.reasons import StalePart, stale_parts

OLD: RecipeParts = {
    "model": RecipePart("m1"),
    "template": RecipePart("t1", "all.md"),
    "effort": RecipePart("low"),
}
DIGEST = recipe_digest(OLD)


def changed(
    new: RecipeParts, recorded: dict[str, RecipeParts] | None = None
) -> tuple[StalePart, ...]:
    known = {DIGEST: OLD} if recorded is None else recorded
    return stale_parts({("ordinary", DIGEST): 3}, known, lambda _kind: new)


def test_only_the_parts_that_differ_are_named_each_with_its_old_and_new_value() -> None:
    edited = RecipePart("t2", "all.md")
    new = {**OLD, "template": edited, "model": RecipePart("m2")}
    assert changed(new) == (
        StalePart("model", OLD["model"], RecipePart("m2"), 3),
        StalePart("template", OLD["template"], edited, 3),
    )


def test_a_part_that_was_added_or_removed_has_no_value_on_one_side() -> None:
    new = {"model": OLD["model"], "template": OLD["template"], "ontology": RecipePart("o")}
    assert changed(new) == (
        StalePart("effort", OLD["effort"], None, 3),
        StalePart("ontology", None, RecipePart("o"), 3),
    )


def test_a_template_of_another_name_with_the_same_text_changes_no_recipe() -> None:
    renamed = {**OLD, "template": RecipePart("t1", "renamed.md")}
    assert recipe_digest(renamed) == DIGEST
    assert changed(renamed) == ()


def test_a_recipe_whose_parts_are_not_recorded_is_one_part() -> None:
    new = {"model": RecipePart("m2")}
    whole = StalePart("recipe", RecipePart(DIGEST), RecipePart(recipe_digest(new)), 3)
    assert changed(new, {}) == (whole,)


def test_turns_of_several_kinds_and_recipes_are_added_by_change() -> None:
    other = {**OLD, "effort": RecipePart("high")}
    digest = recipe_digest(other)
    new = {"error_heavy": {**OLD, "model": RecipePart("m2")}, "ordinary": {**OLD}}
    new["ordinary"]["model"] = RecipePart("m2")
    stale = {("ordinary", DIGEST): 3, ("error_heavy", DIGEST): 2, ("error_heavy", digest): 1}
    assert stale_parts(stale, {DIGEST: OLD, digest: other}, new.__getitem__) == (
        StalePart("effort", RecipePart("high"), RecipePart("low"), 1),
        StalePart("model", RecipePart("m1"), RecipePart("m2"), 6),
    )
