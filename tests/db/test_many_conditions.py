"""Lists of providers with many conditions: all conditions apply, without a join of all."""

from collections.abc import Iterator

import pytest

from placement.api.history import LATEST
from placement.api.operations.providers import MAX_CONDITIONS, parse_provider_filter
from placement.api.parameters import MAX_ITEMS, pairs
from placement.db.engine import Database
from placement.db.statements.provider_list import MAX_JOINED
from placement.errors import BadQuery
from placement.objects import catalog, provider_list
from placement.objects.paging import ListPage
from tests.kit.builders import make_database
from tests.kit.cloud import aggregate_uuid, building
from tests.kit.statements import counted

TRAITS = sorted(catalog.STANDARD_TRAITS - {"MISC_SHARES_VIA_AGGREGATE"})[:20]
CLASSES = sorted(catalog.STANDARD_CLASSES)[:10]
AGGREGATES = [aggregate_uuid(number) for number in range(20)]
CONDITIONS = [
    *(f"required=in:{trait},CUSTOM_NOBODY" for trait in TRAITS),
    *(f"member_of=in:{each},{aggregate_uuid(999)}" for each in AGGREGATES),
    *CLASSES,
]


def without(items: list[str], place: int) -> list[str]:
    return [item for at, item in enumerate(items) if at != place]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A host that satisfies all conditions, and a host that fails only one, for each condition."""
    _settings, made = make_database(tmp_path_factory.mktemp("conditions"))
    with building(made.writer) as cloud:
        for place in range(-1, len(CONDITIONS)):
            cloud.add(
                f"lacks {place}",
                dict.fromkeys(without(CLASSES, place - 40 if place >= 40 else -1), 8),
                traits=without(TRAITS, place),
                aggregates=without(AGGREGATES, place - 20 if place >= 20 else -1),
            )
        cloud.add("nobody's", {}, traits=["CUSTOM_NOBODY"], aggregates=[aggregate_uuid(999)])
    yield made
    made.dispose()


def names(
    database: Database, conditions: list[str], page: ListPage | None = None
) -> tuple[set[str], list[str]]:
    """Return the names of the matching providers, and the number of statements."""
    classes = [each if ":" in each else f"{each}:1" for each in conditions if "=" not in each]
    asked = [each for each in conditions if "=" in each]
    asked += [f"resources={','.join(classes)}"] if classes else []
    wanted = parse_provider_filter(pairs("&".join(asked)), LATEST)
    with counted(database) as statements, database.read() as conn:
        providers = provider_list.find(conn, provider_list.resolve(conn, wanted, page)).providers
        found = {provider.name for provider in providers}
    return found, list(statements)


@pytest.mark.parametrize("page", [None, ListPage(100)])
def test_every_condition_of_many_holds(database: Database, page: ListPage | None) -> None:
    assert len(CONDITIONS) == MAX_CONDITIONS
    assert names(database, CONDITIONS, page)[0] == {"lacks -1"}
    for place in range(len(CONDITIONS)):
        found, _statements = names(database, without(CONDITIONS, place), page)
        assert found == {"lacks -1", f"lacks {place}"}


@pytest.mark.parametrize("page", [None, ListPage(100)])
def test_every_one_of_many_traits_holds(database: Database, page: ListPage | None) -> None:
    found, _statements = names(database, [f"required={','.join(TRAITS)}"], page)
    assert found == {f"lacks {place}" for place in range(-1, len(CONDITIONS))} - {
        f"lacks {place}" for place in range(len(TRAITS))
    }


@pytest.mark.parametrize("page", [None, ListPage(100)])
def test_the_largest_amount_that_fits_is_listed(database: Database, page: ListPage | None) -> None:
    assert "lacks -1" in names(database, [f"{CLASSES[0]}:8"], page)[0]
    assert not names(database, [f"{CLASSES[0]}:9"], page)[0]


def test_few_conditions_are_joined_and_the_others_looked_up(database: Database) -> None:
    """PostgreSQL and MariaDB compare the orders of joins. Thirty joins are too many for both."""
    found, statements = names(database, CONDITIONS)
    assert found == {"lacks -1"}
    assert len(statements) == 2
    assert statements[-1].upper().count("IN (SELECT") == MAX_JOINED
    few, statements = names(database, CONDITIONS[:MAX_JOINED])
    assert len(few) > 1
    assert statements[-1].upper().count("IN (SELECT") == MAX_JOINED
    assert "LIMIT" not in statements[-1].upper()


def test_more_conditions_together_than_fifty_are_refused(database: Database) -> None:
    with pytest.raises(BadQuery, match="too many; at most 50 are allowed"):
        names(database, [*CONDITIONS, f"member_of={aggregate_uuid(1)}"])
    # A trait that must be there is looked up with all others of its kind.
    assert names(database, [*CONDITIONS, f"required={','.join(TRAITS)}"])[0] == {"lacks -1"}


def test_a_query_names_so_many_things_at_the_most() -> None:
    assert len(pairs(f"required=in:{','.join(['T'] * MAX_ITEMS)}")) == 1
    with pytest.raises(BadQuery, match=f"{MAX_ITEMS + 1} items"):
        pairs(f"required=in:{','.join(['T'] * (MAX_ITEMS + 1))}")
    with pytest.raises(BadQuery, match=f"{MAX_ITEMS + 1} items"):
        pairs("&".join(["member_of=x"] * (MAX_ITEMS + 1)))
