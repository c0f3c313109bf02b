"""Communities: which entities belong together, and what that changes in a graph."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START
from tests.summaries.groups import ZOO, clique, entities, entity, facts
from turnetl.base import ids
from turnetl.base.errors import BadUsage, RunStopped
from turnetl.base.graph_model import Community
from turnetl.base.model import Fact
from turnetl.summaries.communities import (
    Algorithm,
    Cluster,
    CommunityInput,
    CommunityPlan,
    EntityNetwork,
    clusters,
    community_changes,
    entity_network,
    plan_communities,
    propagate_labels,
    rule_text,
    with_theme,
)
from turnetl.summaries.rule_summary import MAX_CHARS

ALGORITHMS = pytest.mark.parametrize("algorithm", Algorithm)
TWO_CLIQUES = facts(*clique("abcd"), *clique("vwxy"), "dv")
PAIRS = st.lists(st.sampled_from(clique("abcdefgh")), max_size=30)


def network(of_facts: Sequence[Fact], uuids: str = "abcdefghijklmnopqrstuvwxyz") -> EntityNetwork:
    return entity_network(entities(uuids), of_facts)


@ALGORITHMS
def test_entities_that_facts_connect_closely_are_a_community(algorithm: Algorithm) -> None:
    assert clusters(network(TWO_CLIQUES), algorithm) == (tuple("abcd"), tuple("vwxy"))


@ALGORITHMS
def test_a_group_without_facts_has_no_community(algorithm: Algorithm) -> None:
    assert clusters(network([]), algorithm) == ()
    assert clusters(entity_network([], []), algorithm) == ()


@ALGORITHMS
@given(PAIRS, st.randoms())
def test_the_order_in_which_a_group_is_loaded_makes_no_difference(
    algorithm: Algorithm, pairs: Sequence[str], random: Random
) -> None:
    of_facts, of_entities = facts(*pairs), entities("abcdefgh")
    expected = clusters(entity_network(of_entities, of_facts), algorithm)
    random.shuffle(of_facts)
    random.shuffle(of_entities)
    turned = [replace(one, source=one.target, target=one.source) for one in of_facts]
    assert clusters(entity_network(of_entities, turned), algorithm) == expected


@ALGORITHMS
@given(PAIRS)
def test_no_entity_is_in_two_communities_and_an_isolated_one_is_in_none(
    algorithm: Algorithm, pairs: Sequence[str]
) -> None:
    found = clusters(network(facts(*pairs)), algorithm)
    members = [uuid for cluster in found for uuid in cluster]
    assert len(members) == len(set(members))
    assert set(members) <= set("".join(pairs))
    assert all(len(cluster) >= 2 for cluster in found)


def test_only_valid_facts_between_two_known_entities_connect() -> None:
    ended, own, unknown = facts("ab", "cc", "a?")
    of_facts = [replace(ended, invalid_at=START), own, unknown]
    assert network(of_facts) == EntityNetwork((), {})


def test_an_entity_that_is_connected_with_everything_does_not_merge_communities() -> None:
    with_user = [f"u{uuid}" for uuid in "abcdvwxy"]
    found = clusters(network([*TWO_CLIQUES, *facts(*with_user)]))
    assert [set(cluster) - {"u"} for cluster in found] == [set("abcd"), set("vwxy")]


def test_more_facts_about_two_entities_connect_them_more_closely() -> None:
    weights = network(facts("ab", "ab", "ab", "bc")).weights
    assert weights["a", "b"] > weights["b", "c"]


def test_a_higher_resolution_finds_more_communities() -> None:
    ring = network(facts(*(one + other for one, other in zip("abcdefgh", "bcdefgha", strict=True))))
    assert len(clusters(ring, resolution=0.1)) < len(clusters(ring, resolution=1.5))


@pytest.mark.parametrize("resolution", [0, -1, math.nan, math.inf])
def test_a_resolution_that_is_not_positive_is_rejected(resolution: float) -> None:
    with pytest.raises(BadUsage, match="must be positive"):
        clusters(network(TWO_CLIQUES), resolution=resolution)


def test_without_leiden_a_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    with pytest.raises(BadUsage, match=r"pip install 'turnetl\[communities\]'"):
        clusters(network(TWO_CLIQUES))
    assert clusters(network(TWO_CLIQUES), Algorithm.LABEL_PROPAGATION)


def test_labels_settle_where_those_of_graphiti_alternate() -> None:
    assert len(set(propagate_labels(network(facts("ab", "ab"))).values())) == 1


def test_labels_are_propagated_for_a_bounded_number_of_rounds() -> None:
    assert propagate_labels(network(TWO_CLIQUES), max_rounds=0) == {
        uuid: uuid for uuid in "abcdvwxy"
    }


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_propagation_that_takes_too_long_ends_with_a_sentence_and_gives_no_communities(
    allowed: int,
) -> None:
    checks = 0

    def is_out_of_time() -> bool:
        nonlocal checks
        checks += 1
        return checks > allowed

    propagation = Algorithm.LABEL_PROPAGATION
    with pytest.raises(RunStopped, match="none was changed: give `--max-seconds` more"):
        clusters(network(TWO_CLIQUES), propagation, is_out_of_time=is_out_of_time)
    assert checks == allowed + 1


def test_the_time_is_checked_within_a_round_of_many_entities() -> None:
    checks = []
    many = entity_network(
        entities([f"e{number:05}" for number in range(2_500)]),
        [
            replace(fact, source=f"e{one:05}", target=f"e{one + 1:05}")
            for one, fact in enumerate(facts(*["ab"] * 2_499))
        ],
    )
    propagate_labels(many, max_rounds=1, check=lambda: checks.append(1))
    assert len(checks) == 3


def existing(*found: Cluster) -> dict[str, Cluster]:
    return {ids.community_id(ZOO, cluster): cluster for cluster in found}


AB, CD, EF = ("a", "b"), ("c", "d"), ("e", "f")


def test_a_community_whose_members_did_not_change_is_kept() -> None:
    changes = community_changes(ZOO, existing(AB, CD), [AB, EF])
    assert changes.kept == tuple(existing(AB))
    assert changes.missing == existing(EF)


def test_a_community_that_lost_a_member_is_written_again() -> None:
    [uuid] = existing(AB)
    changes = community_changes(ZOO, {uuid: ("a",)}, [AB])
    assert (changes.kept, changes.missing) == ((), {uuid: AB})


def test_a_community_of_another_program_is_replaced_even_with_the_same_members() -> None:
    changes = community_changes(ZOO, {"random": AB}, [AB])
    assert (changes.kept, changes.missing) == ((), existing(AB))


@given(PAIRS)
def test_after_a_build_there_is_nothing_to_change(pairs: Sequence[str]) -> None:
    found = clusters(network(facts(*pairs)))
    changes = community_changes(ZOO, existing(*found), found)
    assert not changes.missing


def test_the_uuid_of_a_community_depends_on_its_group_and_members_alone() -> None:
    assert ids.community_id(ZOO, "ab") == ids.community_id(ZOO, "ba")
    others = {ids.community_id(ids.group_id("farm"), "ab"), ids.community_id(ZOO, "abc")}
    assert ids.community_id(ZOO, "ab") not in others


def test_the_name_has_the_most_closely_connected_members_first() -> None:
    of_entities = [entity(uuid, f"{uuid}.py") for uuid in "dcba"]
    plan = plan_communities(ZOO, of_entities, facts("ab", "ac", "ad", "bc", "bd"), [])
    [community] = plan.missing
    assert [member.uuid for member in community.members] == list("abcd")
    assert rule_text(community).name == "a.py: b.py, c.py"


def test_a_name_is_bounded_and_names_nothing_twice() -> None:
    members = (entity("a", "x" * 500), entity("b", "x" * 500), entity("c", " two\n lines"))
    text = rule_text(CommunityInput("uuid", members, ()))
    assert text.name == f"{'x' * 59}…: two lines"


def test_a_summary_names_members_and_states_the_facts_that_connect_them() -> None:
    plan = plan_communities(ZOO, entities("abcxy"), facts("ab", "bc", "ac", "xy"), [])
    community = next(one for one in plan.missing if len(one.members) == 3)
    summary = rule_text(community).summary
    assert summary.splitlines() == [
        "2026-03-01: bc 1",
        "2026-03-01: ac 2",
        "2026-03-01: ab 0",
        "3 entities: concepts a, b, c.",
    ]


def test_a_summary_tells_what_was_decided_built_fixed_and_left_open() -> None:
    relations = ("FAILED_WITH", "CHANGED", "DECIDED", "FIXED_BY")
    of_turns = [
        replace(one, relation=relation)
        for one, relation in zip(facts("ab", "bc", "ac", "ab"), relations, strict=True)
    ]
    [community] = plan_communities(ZOO, entities("abc"), of_turns, []).missing
    labels = [line.partition(",")[0] for line in rule_text(community).summary.splitlines()]
    assert labels[:4] == ["Decision", "Change", "Fixed", "Open problem"]


@pytest.mark.parametrize(
    ("pairs", "one_turn"),
    [
        (("ab",), False),
        (("ab", "ab", "ab"), False),
        (("ab", "bc"), False),
        (("ab", "bc", "ac"), True),
    ],
    ids=["a decision and its subject", "two entities", "two facts", "one turn"],
)
def test_a_community_has_a_theme_of_three_facts_over_two_turns(
    pairs: Sequence[str], one_turn: bool
) -> None:
    of_turns = [replace(one, turns=one.turns if not one_turn else ()) for one in facts(*pairs)]
    assert plan_communities(ZOO, entities("abc"), of_turns, []).missing == ()


def test_the_summary_of_a_very_large_community_is_bounded() -> None:
    members = [entity(f"e{number:05}", f"{'name' * 200} {number}") for number in range(10_000)]
    summary = rule_text(CommunityInput("uuid", tuple(members), ())).summary
    assert len(summary) <= MAX_CHARS
    assert "10,000 entities: " in summary


def written(plan: CommunityPlan, size: int, before: Sequence[Community]) -> dict[str, Community]:
    """Return the communities after the batches; no entity may ever be in two of them."""
    held = {community.uuid: community for community in before}
    for removed, batch in plan.batches(size):
        for uuid in removed:
            del held[uuid]
        for one in batch:
            members = tuple(sorted(member.uuid for member in one.members))
            held[one.uuid] = community(one.uuid, members)
        uuids = [uuid for one in held.values() for uuid in one.members]
        assert len(uuids) == len(set(uuids))
    return held


def community(uuid: str, members: Cluster) -> Community:
    return Community(uuid, ZOO, uuid, "", START, None, members)


@given(PAIRS, PAIRS, st.integers(1, 4))
def test_after_all_batches_the_communities_are_those_of_the_facts(
    pairs: Sequence[str], earlier: Sequence[str], size: int
) -> None:
    """Whatever was there before, and although only some of it is replaced at a time."""
    of_entities = entities("abcdefgh")
    before = [
        community(uuid, cluster)
        for uuid, cluster in existing(
            *clusters(entity_network(of_entities, facts(*earlier)))
        ).items()
    ]
    plan = plan_communities(ZOO, of_entities, facts(*pairs), before)
    found = written(plan, size, before)
    themes = with_theme(clusters(entity_network(of_entities, facts(*pairs))), facts(*pairs))
    expected = existing(*themes)
    assert {uuid: one.members for uuid, one in found.items()} == expected
    again = plan_communities(ZOO, of_entities, facts(*pairs), list(found.values()))
    assert (again.missing, again.stale, list(again.batches(size))) == ((), {}, [])


def test_all_communities_are_written_again_on_request() -> None:
    before = [community(uuid, cluster) for uuid, cluster in existing(tuple("abc")).items()]
    arguments = (ZOO, entities("abc"), facts("ab", "bc", "ac"), before)
    assert plan_communities(*arguments).missing == ()
    again = plan_communities(*arguments, everything=True)
    assert ([one.uuid for one in again.missing], again.stale) == ([before[0].uuid], {})
