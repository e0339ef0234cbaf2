"""What is built of a checkout has every package, and `migrations` as one of `placement`.

The client is a distribution of its own, which the service needs and which does not need it.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import falcon_placement_client
import placement
from tests.supply import locked

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
CLIENT = ROOT / "falcon_placement_client"
BUILT_OF = ("pyproject.toml", "setup.cfg", "README.rst", "LICENSE", "placement", "migrations")
REVISIONS = sorted(path.name for path in (ROOT / "migrations" / "versions").glob("*.py"))
# What of the project a revision may import.
ALLOWED = frozenset({"placement.db.tables"})


MODULES = {path.name for path in CLIENT.glob("*.py")}
MAX_CLIENT_PACKAGES = 15  # in an empty environment, the client among them


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a package is built of."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in BUILT_OF:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def client_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the client is built of: its directory alone."""
    copy = tmp_path_factory.mktemp("client") / CLIENT.name
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    shutil.copytree(CLIENT, copy, ignore=ignored)
    return copy


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


def build(kind: str, source: Path, directory: Path) -> Path:
    """Build an `sdist`, a `wheel` or an `editable` wheel with setuptools; the path of the file."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(directory)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (path,) = directory.iterdir()
    return path


def in_package(names: list[str]) -> set[str]:
    """Return the files of `placement.migrations` among those of a wheel."""
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
    migrations = ["placement.migrations", "placement.migrations.versions"]
    assert SETUPTOOLS["packages"] == sorted(names + migrations)


def test_sdist_and_the_wheel_of_it_have_the_migrations(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "sdist").mkdir()
    (tmp_path / "wheel").mkdir()
    sdist = build("sdist", checkout, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    files = {str(path.relative_to(source)) for path in (source / "migrations").rglob("*.*")}
    assert files == expected("migrations")
    with zipfile.ZipFile(build("wheel", source, tmp_path / "wheel")) as wheel:
        names = wheel.namelist()
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
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    with zipfile.ZipFile(build("wheel", source, tmp_path / "wheel")) as wheel:
        wheel.extractall(tmp_path / "site")
    installed = {path.name for path in (tmp_path / "site" / CLIENT.name).iterdir()}
    assert installed == MODULES | {"py.typed"}
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


def test_service_needs_the_client_of_its_version_or_later() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {Requirement(text).name: text for text in project["dependencies"]}
    version = falcon_placement_client.__version__
    assert version == placement.__version__
    assert required["falcon-placement-client"] == f"falcon-placement-client>={version}"


def test_client_needs_few_packages() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    pinned = locked.pins(locked.CLIENT)
    assert names <= pinned.keys(), "run make lock"
    assert len(pinned) + 1 <= MAX_CLIENT_PACKAGES


def test_both_distributions_have_the_same_licence() -> None:
    assert (CLIENT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


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
        "print(placement.__file__, versions.__file__, sep='\\n')"
    )
    assert run_isolated(code, tmp_path) == [
        str(checkout / "placement" / "__init__.py"),
        str(checkout / "migrations" / "versions" / "__init__.py"),
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


def test_an_import_of_another_module_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "0004_later.py"
    path.write_text(
        "import os\nimport sqlalchemy as sa\nfrom placement.db import tables\n\n"
        "def upgrade():\n    from placement.db.schema import version\n    import placement.app\n"
    )
    names = {"placement.db.tables", "placement.db.schema.version", "placement.app"}
    assert imported(path) == names
