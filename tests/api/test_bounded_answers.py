"""The list of candidates ends before its text exceeds the maximum size."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from bench.clouds import HOST, wide
from bench.scenarios import FLAT, devices
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import LATEST
from placement.api.parameters import pairs
from placement.candidates.plan import SearchPlan
from placement.candidates.search.candidate import longest_text
from tests.kit.cloud import Cloud, Provider, load
from tests.kit.service import Client, Service

NAMED = "/allocation_candidates?" + "&".join(
    f"resources_{'g' * 60}{each}=VGPU:1,PGPU:2000000000" for each in range(3)
)


def client(directory: Path, cloud: Cloud, **options: object) -> Client:
    service = Service(directory, placement=options)
    load(service.database.writer, cloud)
    return service


def candidates(client: Client, path: str, minor: int = LATEST.minor) -> list[object]:
    candidates: list[object] = client.get(path, f"1.{minor}")["allocation_requests"]
    return candidates


def _least(path: str) -> int:
    request = parse_candidates(pairs(path.partition("?")[2]), LATEST)
    return longest_text(SearchPlan(request))


def test_an_answer_ends_at_its_size_and_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = devices(4)
    size = 100 * _least(path)
    service = client(tmp_path, wide(8, hosts=3), max_answer_size=size)
    assert len(candidates(service, path)) == 100  # of 3 * 8 * 7 * 6 * 5
    assert [record.levelname for record in caplog.records if "max_answer_size" in record.msg] == [
        "WARNING"
    ]
    caplog.clear()
    assert len(candidates(service, f"{path}&limit=20")) == 20
    assert len(candidates(service, f"{path}&limit=100")) == 100
    assert not [record for record in caplog.records if "max_answer_size" in record.msg]


def test_one_candidate_is_returned_for_any_small_size(tmp_path: Path) -> None:
    service = client(tmp_path, wide(8, hosts=3), max_answer_size=1)
    assert len(candidates(service, devices(4))) == 1


def test_an_answer_with_splits_ends_at_its_size(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The number of parts of a split is unknown until the split has been created."""
    path = "/allocation_candidates?resources=VGPU:64&can_split=VGPU&limit=1000"
    size = 20_000
    service = client(tmp_path, wide(16, hosts=60, units=8), max_answer_size=size)
    answer = service.get(path, "2.0")["allocation_requests"]
    assert {len(each["allocations"]) for each in answer} == {8}
    assert 0.5 * size < len(orjson.dumps(answer)) < size
    assert [record for record in caplog.records if "max_answer_size" in record.msg]
    caplog.clear()
    assert len(service.get(path.replace("1000", "20"), "2.0")["allocation_requests"]) == 20
    assert not [record for record in caplog.records if "max_answer_size" in record.msg]


@pytest.mark.parametrize("minor", [10, 12, 17, 29, 33, 34, LATEST.minor])
def test_no_candidate_is_longer_than_it_was_taken_for(tmp_path: Path, minor: int) -> None:
    def members() -> Iterator[Provider]:
        yield Provider(HOST)
        for _ in range(3):
            yield Provider({"VGPU": 10, "PGPU": 2 * 10**9}, (), 1)

    service = client(tmp_path, Cloud("spread", members))
    paths = [FLAT]
    if minor >= 29:
        paths.append(f"{devices(3)}&limit=5")
    if minor >= 33:
        paths.append(f"{NAMED}&group_policy=isolate")
    for path in paths:
        answer = candidates(service, path, minor)
        assert answer
        lengths = [len(orjson.dumps(candidate)) + 1 for candidate in answer]
        assert max(lengths) <= _least(path)
        if path.startswith(NAMED) and minor >= 34:
            assert max(lengths) >= 0.9 * _least(path)
