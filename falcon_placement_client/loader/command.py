"""The commands load-cloud and dump-cloud. The parsing of arguments is elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from falcon_placement_client.command_client import LostError, RestClient
from falcon_placement_client.errors import ClientError
from falcon_placement_client.identity import Identity
from falcon_placement_client.loader.apply import apply
from falcon_placement_client.loader.cloud import Cloud, LoadError
from falcon_placement_client.loader.cloudfile import load_file
from falcon_placement_client.loader.server import fetch
from falcon_placement_client.loader.writing import lines
from falcon_placement_client.messages import fail
from falcon_placement_client.progress import progress, silent
from falcon_placement_client.yamlfile.problems import UnusableFile

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter


def load_cloud(
    path: str,
    url: str | None,
    token: Identity,
    *,
    objection: Callable[[Cloud, RestClient], str] | None = None,
    wait: float = 0.0,
    out: TextIO | None = None,
) -> int:
    """Load a cloud file into a server and report the result.

    Args:
        url: base URL of the API, or None for the environment (see `identity.connect`).
        token: a token for X-Auth-Token, or a cloud of clouds.yaml, or None for the environment.
        objection: returns a reason not to load the file, which is printed without being an error,
            or "". It raises LoadError in case of an error.
        wait: seconds to wait for the server.
        out: stream for reports; by default standard error.

    Returns:
        The exit code: 0 for success, 1 for an error, which was printed, 130 for an interrupt.
    """
    out = sys.stderr if out is None else out

    def load() -> None:
        cloud = load_file(path)
        with _client(url, token, wait) as client:
            if objection and (reason := objection(cloud, client)):
                print(reason, file=out)
                return
            print(f"{path}: {apply(cloud, client, progress('loading', out))}", file=out)

    hint = "loading again completes what is missing"
    return _run(load, "nothing was changed" if objection is preview else hint, out)


def preview(cloud: Cloud, client: RestClient) -> str:
    """Print the changes that loading a cloud file would make. Return the result in words.

    As an `objection` of `load_cloud`, it prevents loading.
    """
    summary = apply(cloud, client, progress("comparing", sys.stderr), print)
    return f"{cloud.source}: nothing was changed; loading gives {summary}"


def load(path: str | Path, adapter: "Adapter") -> dict[str, str]:
    """Load a cloud file into a service, and return the UUIDs of its providers by name.

    Raises:
        UnusableFile: the file is malformed. The text has a line for each problem.
        LoadError: the service refuses an entry of the file.
        RestError: a request fails.
    """
    cloud = load_file(path)
    apply(cloud, RestClient(None, adapter), silent)
    return {provider.name: provider.uuid for provider in cloud.providers}


def other_providers(cloud: Cloud, client: RestClient) -> str:
    """Return a reason not to load the file if the server has providers that the file lacks.

    If the server contains only a part of the file, an earlier load was interrupted.
    """
    uuids = provider_uuids(client)
    if uuids < {provider.uuid for provider in cloud.providers}:
        return ""
    return f"the server has {len(uuids)} providers already, nothing loaded"


def provider_uuids(client: RestClient) -> set[str]:
    """Return the UUIDs of all providers.  Raises RestError."""
    providers = client.items("/resource_providers", "resource_providers")
    return {provider["uuid"] for provider in providers}


def dump_cloud(
    url: str | None,
    token: Identity,
    *,
    path: str = "-",
    with_consumers: bool = True,
    wait: float = 0.0,
    out: TextIO | None = None,
) -> int:
    """Write the content of a server to a cloud file and report the result.

    Args:
        path: the file; `-` for standard output.
        url, token, wait, out: as for `load_cloud`.

    Returns:
        The exit code, as for `load_cloud`.
    """
    out = sys.stderr if out is None else out

    def dump() -> None:
        with _client(url, token, wait) as client:
            cloud = fetch(client, progress("reading", out), with_consumers=with_consumers)
        if path == "-":
            sys.stdout.writelines(f"{line}\n" for line in lines(cloud))
        else:
            _write(Path(path), cloud)
        counts = f"{len(cloud.providers)} providers, {len(cloud.consumers)} consumers"
        if cloud.omitted_holds:
            counts += f"; {cloud.omitted_holds} holds omitted"
        print(counts, file=out)

    return _run(dump, "nothing was written", out)


@contextmanager
def _client(url: str | None, token: Identity, wait: float) -> Iterator[RestClient]:
    with closing(RestClient(url, token)) as client:
        if wait > 0:
            client.wait(wait)
        yield client


def _run(action: Callable[[], None], hint: str, out: TextIO) -> int:
    """Run a command. Print the hint if the command stops before it is complete."""
    try:
        action()
    except (UnusableFile, LoadError, ClientError) as error:
        fail(f"{error}; {hint}" if isinstance(error, LostError) else error, out)
        return 1
    except KeyboardInterrupt:
        fail(f"interrupted; {hint}", out)
        return 130
    return 0


def _write(path: Path, cloud: Cloud) -> None:
    """Write a file atomically, or write to a device or a pipe.  Raises LoadError."""
    try:
        target = path.resolve() if path.is_file() else path  # a link must remain a link
        is_stream = path.exists() and not path.is_file()
        written = target if is_stream else target.with_name(f"{target.name}.new")
        with written.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines(cloud))
        if not is_stream:
            written.replace(target)
    except OSError as error:
        raise LoadError(f"{path}: cannot be written: {error.strerror}") from None
