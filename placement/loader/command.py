"""The load-cloud command without its argument parsing."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TextIO

from tqdm import tqdm

from placement.client.rest import LostError, RestClient, RestError
from placement.loader.apply import LoadError, Progress, apply
from placement.loader.cloud import Cloud, CloudProvider
from placement.loader.cloudfile import load_file
from placement.yamlfile.problems import UnusableFile

PLAIN_LINES = 4


def load_cloud(
    path: str,
    url: str,
    token: str,
    *,
    if_empty: bool = False,
    wait: float = 0.0,
    out: TextIO | None = None,
) -> int:
    """Load a cloud file into a server and say on `out` (standard error) how it went.

    url: where the server's API is mounted. token: sent as X-Auth-Token. if_empty: do nothing when
    the server has all providers of the file, or others. wait: seconds to wait for the server.

    Returns the exit code: 0 done, 1 an error, which was printed, 130 interrupted.
    """
    out = sys.stderr if out is None else out
    try:
        cloud = load_file(path)
        with closing(RestClient(url, token)) as client:
            if wait > 0:
                client.wait(wait)
            if if_empty and (note := _not_empty(cloud, client)):
                print(note, file=out)
                return 0
            print(f"{path}: {apply(cloud, client, _progress(out))}", file=out)
    except (UnusableFile, LoadError, RestError) as error:
        hint = "; loading again completes what is missing" if isinstance(error, LostError) else ""
        print(f"{error}{hint}", file=out)
        return 1
    except KeyboardInterrupt:
        print("interrupted; loading again completes what is missing", file=out)
        return 130
    return 0


def _not_empty(cloud: Cloud, client: RestClient) -> str:
    """Return a line about the providers that the server has, empty if it has none to speak of."""
    providers = client.items("/resource_providers", "resource_providers")
    uuids = {provider["uuid"] for provider in providers}
    file_uuids = {provider.uuid for provider in cloud.providers}
    if uuids < file_uuids:
        return ""  # none, or those of an interrupted load, which this one completes
    return f"the server has {len(uuids)} providers already, nothing loaded"


def _progress(out: TextIO) -> Progress:
    def bar(providers: Sequence[CloudProvider]) -> AbstractContextManager[Iterable[CloudProvider]]:
        # A terminal that does not know its width would get an empty bar from tqdm.
        width = min(shutil.get_terminal_size().columns, 100)
        return tqdm(providers, desc="loading", unit=" providers", file=out, ncols=width)

    @contextmanager
    def lines(providers: Sequence[CloudProvider]) -> Iterator[Iterable[CloudProvider]]:
        yield _with_lines(providers, out)

    return bar if out.isatty() else lines


def _with_lines(providers: Sequence[CloudProvider], out: TextIO) -> Iterator[CloudProvider]:
    every = max(1, -(-len(providers) // PLAIN_LINES))
    for done, provider in enumerate(providers, 1):
        yield provider
        if done % every == 0 or done == len(providers):
            print(f"loading: {done} of {len(providers)} providers", file=out, flush=True)
