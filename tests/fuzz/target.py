"""A service that receives hostile requests, and the rules for each of its responses."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

from placement.runtime import logs
from tests.kit.cloud import SHARING, aggregate_uuid, building
from tests.kit.service import Service

LARGEST_BODY = 50_000


class Target(Service):
    """A service on a separate small cloud."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            directory,
            placement={"max_request_body_size": LARGEST_BODY, "max_search_steps": 200_000},
        )
        with building(self.database.writer) as cloud:
            root = cloud.add("host1", {"VCPU": 8, "DISK_GB": 100}, aggregates=[aggregate_uuid(1)])
            cloud.add("numa0", {"VCPU": 8}, parent=root, traits=["HW_CPU_X86_AVX2"])
            cloud.add("disk", {"DISK_GB": 999}, traits=[SHARING], aggregates=[aggregate_uuid(1)])
        self._log = io.StringIO()
        self._handler = logging.StreamHandler(self._log)
        self._handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
        root_logger = logging.getLogger()
        self._level = root_logger.level
        root_logger.addHandler(self._handler)
        # Successful probes are also logged.
        logging.getLogger("placement.requestlog").setLevel(logging.DEBUG)
        root_logger.setLevel(logging.INFO)
        logs.guard()

    def close(self) -> None:
        """Close the log and the connections."""
        logging.getLogger().removeHandler(self._handler)
        logging.getLogger().setLevel(self._level)
        logging.getLogger("placement.requestlog").setLevel(logging.NOTSET)
        super().close()

    def answer(self, environ: dict[str, Any]) -> int:
        """Send a request. Return the status if the response is valid for any request."""
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None
        ) -> Any:
            started.append((status, headers))
            return lambda data: None

        found = self.application(environ, start_response)
        raw = b"".join(found)
        close = getattr(found, "close", None)
        if close is not None:
            close()
        ((line, headers),) = started
        assert all(f"{name}{value}".isprintable() for name, value in headers)
        self._check_log()
        status, names = int(line[:3]), {name.lower(): value for name, value in headers}
        assert names["x-openstack-request-id"].startswith("req-")
        assert status < 500, raw
        if status >= 400 and environ["REQUEST_METHOD"] != "HEAD":
            assert names["content-type"] == "application/json"
            (error,) = json.loads(raw)["errors"]
            assert error["status"] == status
            assert error["title"]
            assert error["detail"]
            assert len(error["detail"]) < 4100
            assert error["request_id"] == names["x-openstack-request-id"]
        elif raw and environ["REQUEST_METHOD"] != "HEAD":
            json.loads(raw)
        return status

    def _check_log(self) -> None:
        """Check that the request has one line, and that lines have no unprintable characters."""
        lines = self._log.getvalue().split("\n")
        self._log.seek(0)
        self._log.truncate()
        assert all(line.isprintable() for line in lines), lines
        requests = [line for line in lines if line.startswith("placement.requestlog ")]
        # One that the machine has made slow has a second line.
        access = [line for line in requests if not line.startswith("placement.requestlog slow: ")]
        assert len(access) == 1, lines
