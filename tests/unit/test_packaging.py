"""Built packages are complete; `migrations` and `etc` are part of `placement`.

The client is a distribution of its own. Neither needs the other.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import falcon_placement_client
import placement
from placement.cli import samples
from tests.kit.packages import build, copy_checkout, copy_client, unpack
from tests.supply import locked

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
CLIENT = ROOT / "falcon_placement_client"
# What the tools of oslo generate samples with, which deployment tools read in a source tree.
GENERATORS = frozenset({"placement/config-generator.conf", "placement/policy-generator.conf"})
# Of etc, what belongs to a source tree.
SOURCE_ONLY = ("__init__.py", "serve-demo.sh", *GENERATORS)
REVISIONS = sorted(path.name for path in (ROOT / "migrations" / "versions").glob("*.py"))
# Packages whose folders have files and no modules.
DATA = {"placement.samples": ROOT / "etc", "placement.explorer": ROOT / "placement" / "explorer"}
# What of the project a revision may import.
ALLOWED = frozenset({"placement.db.tables"})


MODULES = {
    str(path.relative_to(CLIENT)) for path in [*CLIENT.glob("*.py"), *CLIENT.glob("[a-z]*/*.py")]
}
LINKED = {name for name in MODULES if (CLIENT / name).is_symlink()}  # modules of the service, too
MAX_CLIENT_PACKAGES = 15  # in an empty environment, the client among them


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a package is built of."""
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def client_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the client is built of: its directory, and the modules that it links."""
    return copy_client(tmp_path_factory.mktemp("client"))


def run_isolated(code: str, cwd: Path) -> list[str]:
    """Return the lines that code prints in a Python without site-packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def source(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of an sdist."""
    directory = tmp_path_factory.mktemp("sdist")
    (directory / "file").mkdir()
    sdist = build("sdist", checkout, directory / "file")
    return unpack(sdist, directory)


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of an sdist, unpacked."""
    directory = tmp_path_factory.mktemp("wheel")
    (directory / "file").mkdir()
    with zipfile.ZipFile(build("wheel", source, directory / "file")) as archive:
        archive.extractall(directory / "site")
    return directory / "site"


def in_package(names: list[str]) -> set[str]:
    """Return the files of `placement.migrations` in a wheel."""
    return {name for name in names if name.startswith("placement/migrations/")}


def expected(package: str) -> set[str]:
    """Return the files of the migrations below the directory of their package."""
    files = {"__init__.py", "env.py", "script.py.mako"}
    return {f"{package}/{name}" for name in files} | {
        f"{package}/versions/{name}" for name in REVISIONS
    }


def test_every_package_is_listed() -> None:
    directories = [path.parent for path in (ROOT / "placement").rglob("__init__.py")]
    names = [".".join(path.relative_to(ROOT).parts) for path in directories]
    elsewhere = ["placement.migrations", "placement.migrations.versions", "placement.samples"]
    data = [
        f"{package}.{'.'.join(path.relative_to(folder).parts)}"
        for package, folder in DATA.items()
        for path in folder.rglob("*")
        if path.is_dir() and path.name != "__pycache__" and any(map(Path.is_file, path.iterdir()))
    ]
    assert SETUPTOOLS["packages"] == sorted(names + elsewhere + data)


def test_sdist_and_the_wheel_of_it_have_the_migrations(source: Path, wheel: Path) -> None:
    files = {str(path.relative_to(source)) for path in (source / "migrations").rglob("*.*")}
    assert files == expected("migrations")
    names = [str(path.relative_to(wheel)) for path in wheel.rglob("*.*")]
    assert in_package(names) == expected("placement/migrations")
    assert not [name for name in names if name.startswith("migrations/")]
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"placement"}
    assert "placement/py.typed" in names


def test_sdist_of_the_client_and_the_wheel_of_it_have_its_modules(
    client_checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "sdist").mkdir()
    (tmp_path / "wheel").mkdir()
    sdist = build("sdist", client_checkout, tmp_path / "sdist")
    source = unpack(sdist, tmp_path)
    with zipfile.ZipFile(build("wheel", source, tmp_path / "wheel")) as wheel:
        wheel.extractall(tmp_path / "site")
    site = tmp_path / "site" / CLIENT.name
    installed = {str(path.relative_to(site)) for path in site.rglob("*.*")}
    assert installed == MODULES | {"py.typed"}
    for module in LINKED:
        assert not (source / module).is_symlink()
        assert (site / module).read_bytes() == (CLIENT / module).read_bytes()
    assert {path.suffix for path in (tmp_path / "site").iterdir()} == {"", ".dist-info"}


def test_editable_installation_of_the_client_finds_it_and_not_the_service(
    client_checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "wheel").mkdir()
    with zipfile.ZipFile(build("editable", client_checkout, tmp_path / "wheel")) as wheel:
        wheel.extractall(tmp_path / "site")
    code = (
        f"import site; site.addsitedir({str(tmp_path / 'site')!r})\n"
        "import falcon_placement_client.inventory as inventory\n"
        "from importlib.util import find_spec\n"
        "print(inventory.__file__, find_spec('placement'), sep='\\n')"
    )
    assert run_isolated(code, tmp_path) == [str(client_checkout / "inventory.py"), "None"]


def required(texts: list[str]) -> dict[str, Requirement]:
    """Requirements by their name."""
    return {each.name: each for each in map(Requirement, texts)}


def test_modules_in_both_distributions_are_written_once() -> None:
    assert {"inventory.py", "vocabulary.py"} <= LINKED
    for name in LINKED:
        module = (CLIENT / name).resolve()
        assert module.is_relative_to(ROOT / "placement")
        # Each copy finds what it imports in its own package.
        assert "import placement" not in module.read_text()
        assert "from placement" not in module.read_text()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("placement.entry.app", "falcon_placement_client"),
        ("falcon_placement_client.public", "placement"),
    ],
)
def test_neither_is_imported_by_the_other(first: str, second: str) -> None:
    code = f"import sys, {first}; print({second!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_service_needs_no_client_and_names_it_as_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "falcon-placement-client" not in required(project["dependencies"])
    version = falcon_placement_client.__version__
    assert version == placement.__version__
    extra = project["optional-dependencies"]["client"]
    assert extra == [f"falcon-placement-client>={version}"]


def test_commands_of_the_client_need_only_what_the_service_needs() -> None:
    service, client = (
        tomllib.loads(path.read_text())["project"]
        for path in (ROOT / "pyproject.toml", CLIENT / "pyproject.toml")
    )
    commands = client["dependencies"] + client["optional-dependencies"]["commands"]
    assert required(commands).items() <= required(service["dependencies"]).items()


@pytest.fixture
def without_client(wheel: Path, tmp_path: Path) -> Path:
    """A directory of packages: the service as installed, and the libraries of the tests."""
    directory = tmp_path / "packages"
    directory.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "falcon_placement" not in path.name and path.suffix != ".pth":
            (directory / path.name).symlink_to(path)
    for path in wheel.iterdir():
        (directory / path.name).symlink_to(path)
    return directory


ALONE = """
import sys
sys.path.append(sys.argv[1])
from importlib.util import find_spec
from placement.cli import main
from placement.direct import PlacementDirect
assert find_spec("falcon_placement_client") is None
assert main(["db", "sync"]) == 0
with PlacementDirect.on_database(f"sqlite:///{sys.argv[2]}") as service:
    print(service.get("/resource_providers").json())
print(main(["load-cloud", "cloud.yaml"]))
"""


def test_the_service_alone_creates_its_schema_and_serves(
    without_client: Path, tmp_path: Path
) -> None:
    path = tmp_path / "placement.db"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, str(without_client), str(path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{path}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["{'resource_providers': []}", "2"]
    assert done.stderr.splitlines()[-1] == (
        "placement: placement-manage load-cloud needs the client: "
        "pip install falcon-placement-client"
    )


def run_version(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script behind `make version` in a checkout."""
    command = ["sh", str(checkout / ".ci" / "version"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_command_changes_the_version_wherever_it_is_stated(tmp_path: Path) -> None:
    stated = ("placement/__init__.py", "falcon_placement_client/__init__.py", "pyproject.toml")
    for name in (".ci/version", "debian/changelog", *stated):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    before = {name: (ROOT / name).read_text() for name in stated}
    assert run_version(tmp_path).stdout == f"{placement.__version__}\n"
    assert run_version(tmp_path, "98.7.6rc5").returncode == 0
    after = {name: (tmp_path / name).read_text() for name in stated}
    changed = {
        name: text.replace(placement.__version__, "98.7.6rc5") for name, text in before.items()
    }
    assert after == changed
    assert all(after[name] != before[name] for name in stated)
    changelog = (tmp_path / "debian" / "changelog").read_text()
    assert changelog.startswith("falcon-placement (98.7.6~rc5) unstable;")
    assert changelog.splitlines()[-1] != (ROOT / "debian/changelog").read_text().splitlines()[-1]
    for wrong in ("98.7", "98.7.6-rc5", "v98.7.6", "98.7.6rc5 "):
        assert run_version(tmp_path, wrong).returncode == 2
    assert run_version(tmp_path).stdout == "98.7.6rc5\n"


def test_no_document_states_the_version_but_the_changelog() -> None:
    documents = [ROOT / "README.rst", CLIENT / "README.rst", *(ROOT / "docs").rglob("*.rst")]
    stating = [path.name for path in documents if placement.__version__ in path.read_text()]
    assert stating == []


def test_client_needs_few_packages() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    pinned = locked.pins(locked.CLIENT)
    assert names <= pinned.keys(), "run make lock"
    assert len(pinned) + 1 <= MAX_CLIENT_PACKAGES


def test_both_distributions_have_the_same_licence() -> None:
    assert (CLIENT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def files_of(directory: Path) -> dict[str, bytes]:
    """The files below a directory, by their paths in it."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def write_samples(first: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with the package that is found in a directory; libraries are the tests'."""
    code = (
        "import sys; sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in"
        f" repr(each).lower()]; sys.path.insert(0, {str(first)!r})\n"
        "import placement, placement.cli\n"
        f"assert placement.__file__.startswith({str(first)!r})\n"
        f"sys.exit(placement.cli.main(['samples', {str(directory)!r}]))"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=directory.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_installed_wheel_writes_the_samples_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    done = write_samples(wheel, tmp_path / "samples")
    assert (done.returncode, done.stderr) == (0, "")
    written = files_of(tmp_path / "samples")
    assert written == {
        name: path.read_bytes() for name, path in samples.list_samples() if path.is_file()
    }
    assert done.stdout == f"{len(written)} files in {tmp_path / 'samples'}\n"
    mentioned = {name for name, text in written.items() if b"password" in text.lower()}
    # A method of authentication, without a password.
    assert mentioned - {"deploy/kubernetes/configmap.yaml"} == samples.SECRETS
    for name in samples.SECRETS:
        assert (tmp_path / "samples" / name).stat().st_mode & 0o137 == 0, name
    # All that the documents name, and nothing that only a source tree can use.
    for name, content in files_of(ROOT / "etc").items():
        if not name.startswith(SOURCE_ONLY):
            assert written.pop(name.removeprefix("placement/")) == content
    assert written == {}
    # The wheel carries what it writes, and the module of the package.
    carried = files_of(wheel / "placement" / "samples").keys()
    assert carried >= GENERATORS
    names = {name.removeprefix("placement/") for name in carried - {"__init__.py", *GENERATORS}}
    assert names == dict(samples.list_samples()).keys()


@pytest.mark.parametrize("in_checkout", [True, False], ids=["in the checkout", "elsewhere"])
def test_editable_installation_finds_the_migrations(
    checkout: Path, tmp_path: Path, in_checkout: bool
) -> None:
    (tmp_path / "wheel").mkdir()
    site = tmp_path / "site"
    with zipfile.ZipFile(build("editable", checkout, tmp_path / "wheel")) as wheel:
        wheel.extractall(site)
    # Without the site-packages of this environment, which have an editable installation, too.
    first = f"import sys; sys.path.insert(0, {str(checkout)!r})\n" if in_checkout else ""
    code = (
        f"{first}import site; site.addsitedir({str(site)!r})\n"
        "import placement, placement.migrations.versions as versions\n"
        "from placement import samples\n"
        "print(placement.__file__, versions.__file__, samples.__file__, sep='\\n')"
    )
    assert run_isolated(code, tmp_path) == [
        str(checkout / "placement" / "__init__.py"),
        str(checkout / "migrations" / "versions" / "__init__.py"),
        str(checkout / "etc" / "__init__.py"),
    ]


def imported(path: Path) -> set[str]:
    """Return the modules of the project that a file imports, anywhere in it."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            # `from placement.db import tables` imports a module.
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in modules if name.split(".")[0] in {"placement", "migrations"}}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "migrations").rglob("*.py")), ids=lambda path: path.stem
)
def test_migrations_import_only_names_of_the_tables(path: Path) -> None:
    others = {
        name
        for name in imported(path)
        if name not in ALLOWED and name.rpartition(".")[0] not in ALLOWED
    }
    assert others == set()
