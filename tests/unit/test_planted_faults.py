"""The catalogues of planted faults match the code."""

from collections import Counter

from tests.faults import CATALOGUES, ROOT, faults


def test_the_text_of_each_planted_fault_occurs_once_in_its_module() -> None:
    stale = [
        f"{catalogue.path}: {fault.name}"
        for catalogue in CATALOGUES
        for fault in faults(catalogue)
        if (ROOT / catalogue.package / fault.module).read_text().count(fault.text) != 1
    ]
    assert stale == []


def test_no_two_planted_faults_have_the_same_name() -> None:
    names = Counter(fault.name for catalogue in CATALOGUES for fault in faults(catalogue))
    assert [name for name, number in names.items() if number > 1] == []
