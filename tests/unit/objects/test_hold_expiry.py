"""The log of the thread that releases expired holds."""

import time

import pytest

from placement.db.engine import Database
from placement.objects.hold_expiry import HoldExpiry
from tests.kit.builders import settings
from tests.kit.ports import free_port


def test_each_check_without_a_database_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    url = f"mysql+pymysql://root@127.0.0.1:{free_port()}/placement"
    expiry = HoldExpiry(Database(settings(url).database), interval=0.001)
    expiry.ensure_started()
    for _ in range(30_000):  # the thread may have ended
        if len(caplog.records) >= 3:
            break
        time.sleep(0.001)
    expiry.stop()
    assert len(caplog.records) >= 3
    for record in caplog.records:
        assert not record.exc_info
        assert record.getMessage().startswith("expired holds cannot be released for now: the ")
        assert "(error 2003)" in record.getMessage()
