"""Graphiti's search recipes by name, and the options of a search with one.

This module does not import Graphiti, which takes a second, so that a wrong option is reported at
once. A test compares the names and properties with `graphiti_core.search.search_config_recipes`.
"""

from dataclasses import dataclass
from enum import StrEnum

from turnetl.base.errors import BadUsage


class Recipe(StrEnum):
    """Graphiti's recipes: what is searched, and what orders the results."""

    COMBINED_HYBRID_SEARCH_RRF = "COMBINED_HYBRID_SEARCH_RRF"
    COMBINED_HYBRID_SEARCH_MMR = "COMBINED_HYBRID_SEARCH_MMR"
    COMBINED_HYBRID_SEARCH_CROSS_ENCODER = "COMBINED_HYBRID_SEARCH_CROSS_ENCODER"
    EDGE_HYBRID_SEARCH_RRF = "EDGE_HYBRID_SEARCH_RRF"
    EDGE_HYBRID_SEARCH_MMR = "EDGE_HYBRID_SEARCH_MMR"
    EDGE_HYBRID_SEARCH_NODE_DISTANCE = "EDGE_HYBRID_SEARCH_NODE_DISTANCE"
    EDGE_HYBRID_SEARCH_EPISODE_MENTIONS = "EDGE_HYBRID_SEARCH_EPISODE_MENTIONS"
    EDGE_HYBRID_SEARCH_CROSS_ENCODER = "EDGE_HYBRID_SEARCH_CROSS_ENCODER"
    NODE_HYBRID_SEARCH_RRF = "NODE_HYBRID_SEARCH_RRF"
    NODE_HYBRID_SEARCH_MMR = "NODE_HYBRID_SEARCH_MMR"
    NODE_HYBRID_SEARCH_NODE_DISTANCE = "NODE_HYBRID_SEARCH_NODE_DISTANCE"
    NODE_HYBRID_SEARCH_EPISODE_MENTIONS = "NODE_HYBRID_SEARCH_EPISODE_MENTIONS"
    NODE_HYBRID_SEARCH_CROSS_ENCODER = "NODE_HYBRID_SEARCH_CROSS_ENCODER"
    COMMUNITY_HYBRID_SEARCH_RRF = "COMMUNITY_HYBRID_SEARCH_RRF"
    COMMUNITY_HYBRID_SEARCH_MMR = "COMMUNITY_HYBRID_SEARCH_MMR"
    COMMUNITY_HYBRID_SEARCH_CROSS_ENCODER = "COMMUNITY_HYBRID_SEARCH_CROSS_ENCODER"

    @classmethod
    def named(cls, name: str) -> "Recipe":
        """Return the recipe with this name, in any case, with dashes or underscores."""
        try:
            return cls(name.strip().upper().replace("-", "_"))
        except ValueError:
            names = ", ".join(cls)
            raise BadUsage(f"there is no search recipe `{name}`; recipes: {names}") from None

    @property
    def has_model(self) -> bool:
        """Whether a model orders the results: the cross-encoder."""
        return self.endswith("_CROSS_ENCODER")

    @property
    def has_distance(self) -> bool:
        """Whether the distance to a center orders the results."""
        return self.endswith("_NODE_DISTANCE")

    @property
    def may_walk(self) -> bool:
        """Whether it searches entities or facts, which a breadth-first search finds."""
        return not self.startswith("COMMUNITY_")

    @property
    def walks(self) -> bool:
        """Whether a breadth-first search is one of its own searches."""
        return self.has_model and self.may_walk


@dataclass(frozen=True, slots=True)
class RecipeOptions:
    """A recipe with its center and the depth of its breadth-first search."""

    recipe: Recipe
    center: str | None = None
    """The center entity, as the user names it."""
    bfs_depth: int | None = None
    """Number of edges, at least 1."""

    def __post_init__(self) -> None:
        recipe = self.recipe
        if self.bfs_depth is not None and self.bfs_depth < 1:
            raise BadUsage(
                f"a breadth-first search has a depth of at least 1, not {self.bfs_depth}"
            )
        if self.bfs_depth is not None and not recipe.may_walk:
            raise BadUsage(
                f"{recipe} searches communities, which a breadth-first search does not find; "
                "omit `--bfs`, or use a recipe for nodes or edges"
            )
        if recipe.has_distance and self.center is None:
            raise BadUsage(
                f"{recipe} orders results by their distance to an entity: name it with `--center`, "
                "by its name or uuid"
            )
        walks = recipe.walks or self.bfs_depth is not None
        if self.center is not None and not (recipe.has_distance or walks):
            raise BadUsage(
                f"{recipe} has no use for `--center`: add `--bfs DEPTH` to search around the "
                "entity, or use a recipe whose name ends in NODE_DISTANCE"
            )
