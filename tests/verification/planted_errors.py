"""One error per check, planted in the graph of `verifying.sample_turns`.

Session `s1` has the turns p0, p1 in three chunks and p2 in two; session `s2` has q0.
"""

from tests.builders import GROUP
from tests.graph.sample_changes import turn_id
from tests.verification.verifying import PlantedError
from turnetl.base import ids
from turnetl.base.model import SessionId
from turnetl.verification.check import Check

P0, P1, P2, Q0 = (turn_id(native) for native in ("p0", "p1", "p2", "q0"))
P1_SECOND, P2_SECOND = ids.chunk_id(P1, 1), ids.chunk_id(P2, 1)
SAGA = ids.saga_id(GROUP, SessionId("s1"))
OWN = "a turn of a session with a coding agent"
NOTE, OTHER = ids.entity_id(GROUP, "Concept", "a note"), ids.entity_id(GROUP, "File", "other.py")


def both(
    name: str, *statements: str, expected: dict[Check, int], is_repaired: bool = False
) -> PlantedError:
    """Return an error that the same statements plant in both stores."""
    return PlantedError(name, statements, statements, expected, is_repaired)


def create_entity(uuid: str, name: str, group: str = GROUP) -> tuple[str, str]:
    """Return the statements of both stores for an entity with a vector of eight numbers."""
    vector = "[0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]"
    columns = f"uuid: '{uuid}', name: '{name}', group_id: '{group}', summary: ''"
    labels = "labels: ['Entity', 'File']"
    return (
        (
            f"CREATE (:Entity {{{columns}, {labels}, attributes: '{{}}', "
            f"name_embedding: CAST({vector} AS FLOAT[])}})"
        ),
        (
            f"CREATE (:Entity:File {{{columns}, {labels}, name_embedding: {vector}, "
            "created_at: datetime('2026-03-02T09:00:00Z')})"
        ),
    )


TWIN = create_entity("twin", "other.py")
ELSEWHERE = create_entity("elsewhere", "elsewhere.py", "shop_b")
LINK_TWIN = f"""
MATCH (e:Episodic {{uuid: '{Q0}'}}), (n:Entity {{uuid: 'twin'}})
CREATE (e)-[:MENTIONS {{uuid: 'to twin', group_id: 'shop'}}]->(n)
"""
LINK_ELSEWHERE = f"""
MATCH (e:Episodic {{uuid: '{Q0}'}}), (n:Entity {{uuid: 'elsewhere'}})
CREATE (e)-[:MENTIONS {{uuid: 'to elsewhere', group_id: 'shop'}}]->(n)
"""
LADYBUG_FACT = "MATCH (f:RelatesToNode_) WHERE f.fact = 'a note about other.py'"
NEO4J_FACT = "MATCH (a)-[f:RELATES_TO {fact: 'a note about other.py'}]->(b)"

UNUSE = (
    f"MATCH (:Episodic)-[r:MENTIONS]->(:Entity {{uuid: '{NOTE}'}}) DELETE r",
    f"MATCH (n:Entity {{uuid: '{NOTE}'}})<-[r:RELATES_TO]-() DELETE r",
)

ERRORS = [
    both(
        "a turn without its episode",
        f"MATCH (e:Episodic {{uuid: '{Q0}'}}) DETACH DELETE e",
        expected={Check.MISSING_EPISODES: 1},
    ),
    both(
        "a turn with some of its episodes",
        f"MATCH (e:Episodic {{uuid: '{P1_SECOND}'}}) DETACH DELETE e",
        expected={Check.HALF_WRITTEN: 1},
    ),
    both(
        "an episode without a receipt",
        f"CREATE (:Episodic {{uuid: 'lost', group_id: 'shop', source_description: '{OWN}'}})",
        expected={Check.NO_RECEIPT: 1},
    ),
    PlantedError(
        "two nodes of an episode",
        (),
        (f"CREATE (:Episodic {{uuid: '{P0}', group_id: 'shop', source_description: '{OWN}'}})",),
        {Check.DUPLICATE_EPISODES: 1},
        only="neo4j",  # uuid is a primary key in Ladybug
    ),
    both(
        "a second mention",
        f"""
        MATCH (e:Episodic {{uuid: '{Q0}'}}), (n:Entity {{uuid: '{OTHER}'}})
        CREATE (e)-[:MENTIONS {{uuid: 'second', group_id: 'shop'}}]->(n)
        """,
        expected={Check.DOUBLE_MENTIONS: 1},
        is_repaired=True,
    ),
    both(
        "a session without its saga",
        f"MATCH (s:Saga {{uuid: '{SAGA}'}}) DETACH DELETE s",
        expected={Check.SAGA_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "an episode that its saga lacks",
        f"MATCH (:Saga)-[r:HAS_EPISODE]->(:Episodic {{uuid: '{P1_SECOND}'}}) DELETE r",
        expected={Check.SAGA_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "an episode that its saga has twice",
        f"""
        MATCH (s:Saga {{uuid: '{SAGA}'}}), (e:Episodic {{uuid: '{P0}'}})
        CREATE (s)-[:HAS_EPISODE {{uuid: 'second', group_id: 'shop'}}]->(e)
        """,
        expected={Check.SAGA_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "a saga that names another last episode",
        f"MATCH (s:Saga {{uuid: '{SAGA}'}}) SET s.last_episode_uuid = '{P0}'",
        expected={Check.SAGA_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "a chain with a gap",
        f"MATCH (:Episodic)-[r:NEXT_EPISODE]->(:Episodic {{uuid: '{P1_SECOND}'}}) DELETE r",
        expected={Check.NEXT_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "a chain with a branch",
        f"""
        MATCH (a:Episodic {{uuid: '{P0}'}}), (b:Episodic {{uuid: '{P2}'}})
        CREATE (a)-[:NEXT_EPISODE {{uuid: 'branch', group_id: 'shop'}}]->(b)
        """,
        expected={Check.NEXT_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "a link that is there twice",
        f"""
        MATCH (a:Episodic {{uuid: '{P0}'}}), (b:Episodic {{uuid: '{P1}'}})
        CREATE (a)-[:NEXT_EPISODE {{uuid: 'double', group_id: 'shop'}}]->(b)
        """,
        expected={Check.NEXT_LINKS: 1},
        is_repaired=True,
    ),
    both(
        "a chain in reverse",
        f"""
        MATCH (:Episodic {{uuid: '{P2}'}})-[r:NEXT_EPISODE]->(:Episodic {{uuid: '{P2_SECOND}'}})
        DELETE r
        """,
        f"""
        MATCH (a:Episodic {{uuid: '{P2_SECOND}'}}), (b:Episodic {{uuid: '{P2}'}})
        CREATE (a)-[:NEXT_EPISODE {{uuid: 'reverse', group_id: 'shop'}}]->(b)
        """,
        expected={Check.NEXT_LINKS: 1},
        is_repaired=True,
    ),
    PlantedError(
        "a mention of an entity of another group",
        (ELSEWHERE[0], LINK_ELSEWHERE),
        (ELSEWHERE[1], LINK_ELSEWHERE),
        {Check.ACROSS_GROUPS: 1},
    ),
    both(
        "a fact between entities of which one is in another group",
        f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.group_id = 'shop_b'",
        expected={Check.ACROSS_GROUPS: 2, Check.MISSING_ENTITIES: 1},
    ),
    PlantedError(
        "a fact without its source",
        (f"MATCH (:Entity {{uuid: '{OTHER}'}})-[r:RELATES_TO]->() DELETE r",),
        (f"MATCH (n:Entity {{uuid: '{OTHER}'}}) REMOVE n:Entity SET n:Gone",),
        {Check.DANGLING_FACTS: 1},
        expected_in_neo4j={Check.DANGLING_FACTS: 1, Check.MISSING_ENTITIES: 1},
    ),
    PlantedError(
        "a fact without any entity",
        (
            (
                "CREATE (:RelatesToNode_ {uuid: 'lone', group_id: 'shop', fact: 'lone', "
                f"episodes: ['{Q0}'], "
                "fact_embedding: CAST([1.0, 0, 0, 0, 0, 0, 0, 0] AS FLOAT[])})"
            ),
        ),
        (
            (
                "CREATE (:Gone)-[:RELATES_TO {uuid: 'lone', group_id: 'shop', fact: 'lone', "
                f"episodes: ['{Q0}'], fact_embedding: [1.0, 0, 0, 0, 0, 0, 0, 0]}}]->(:Gone)"
            ),
        ),
        {Check.DANGLING_FACTS: 1},
        is_repaired=True,
    ),
    both(
        "a record about the summary of an entity that never was",
        f"""
        MATCH (c:TurnCommit {{turn_id: '{Q0}'}})
        SET c.summaries = '[{{"entity":"{NOTE}"}},{{"entity":"never"}}]'
        """,
        expected={Check.SUMMARISED_ENTITIES: 1},
    ),
    PlantedError(
        "an entity that is gone",
        (f"MATCH (n:Entity {{uuid: '{NOTE}'}}) DETACH DELETE n",),
        (f"MATCH (n:Entity {{uuid: '{NOTE}'}}) DETACH DELETE n",),
        {Check.MISSING_ENTITIES: 1, Check.DANGLING_FACTS: 1},
        expected_in_neo4j={Check.MISSING_ENTITIES: 1, Check.MISSING_FACTS: 1},
    ),
    PlantedError(
        "a fact that is gone",
        (f"{LADYBUG_FACT} DETACH DELETE f",),
        (f"{NEO4J_FACT} DELETE f",),
        {Check.MISSING_FACTS: 1},
    ),
    PlantedError(
        "a fact that names a turn that is not in the graph",
        (f"{LADYBUG_FACT} SET f.episodes = ['{Q0}', 'gone']",),
        (f"{NEO4J_FACT} SET f.episodes = ['{Q0}', 'gone']",),
        {Check.FACTS_WITHOUT_TURN: 1},
    ),
    PlantedError(
        "a fact that names no turn",
        (f"{LADYBUG_FACT} SET f.episodes = CAST([] AS STRING[])",),
        (f"{NEO4J_FACT} SET f.episodes = []",),
        {Check.FACTS_WITHOUT_TURN: 1},
    ),
    PlantedError(
        "a fact that holds long after its turn",
        (f"{LADYBUG_FACT} SET f.valid_at = timestamp('2026-03-09 09:00:00')",),
        (f"{NEO4J_FACT} SET f.valid_at = datetime('2026-03-09T09:00:00Z')",),
        {Check.FACTS_IN_FUTURE: 1},
    ),
    PlantedError(
        "an entity that nothing uses",
        UNUSE,
        UNUSE,
        {Check.UNUSED_ENTITIES: 1, Check.DANGLING_FACTS: 1},
        expected_in_neo4j={Check.UNUSED_ENTITIES: 1, Check.MISSING_FACTS: 1},
    ),
    PlantedError(
        "two entities with one name",
        (TWIN[0], LINK_TWIN),
        (TWIN[1], LINK_TWIN),
        {Check.DUPLICATE_NAMES: 1},
    ),
    PlantedError(
        "vectors of other dimensions",
        (
            f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.name_embedding = CAST([1.0] AS FLOAT[])",
            f"{LADYBUG_FACT} SET f.fact_embedding = CAST([1.0, 0.0] AS FLOAT[])",
        ),
        (
            f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.name_embedding = [1.0]",
            f"{NEO4J_FACT} SET f.fact_embedding = [1.0, 0.0]",
        ),
        {Check.WRONG_DIMENSIONS: 2},
    ),
    PlantedError(
        "missing vectors",
        (
            f"MATCH (n:Entity {{uuid: '{NOTE}'}}) SET n.name_embedding = NULL",
            f"{LADYBUG_FACT} SET f.fact_embedding = NULL",
        ),
        (
            f"MATCH (n:Entity {{uuid: '{NOTE}'}}) REMOVE n.name_embedding",
            f"{NEO4J_FACT} REMOVE f.fact_embedding",
        ),
        {Check.MISSING_VECTORS: 2},
    ),
]
