"""The pkg-config file names the folders that CMake installs into, wherever a distribution wants them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))

pytestmark = pytest.mark.skipif(
    CMAKE is None or not (ROOT / "CMakeLists.txt").exists(), reason="needs CMake and the sources"
)


def variables(file: Path) -> dict[str, str]:
    """What a pkg-config file at this place defines, names filled in."""
    known = {"pcfiledir": str(file.parent)}
    for name, value in re.findall(r"^(\w+)=(.*)$", file.read_text(encoding="utf-8"), re.MULTILINE):
        known[name] = re.sub(r"\$\{(\w+)\}", lambda found: known[found[1]], value)
    return known


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Configured again and again: CMake looks at the compilers the first time only."""
    return tmp_path_factory.mktemp("build")


@pytest.mark.parametrize("include_dir", ["include", "/elsewhere/include"])
@pytest.mark.parametrize("library_dir", ["lib", "lib64", "lib/x86_64-linux-gnu", "/elsewhere/lib"])
def test_folders_are_those_of_the_installation(library_dir: str, include_dir: str, build: Path, tmp_path: Path) -> None:
    asked = {"PREFIX": "/prefix", "LIBDIR": library_dir, "INCLUDEDIR": include_dir}
    options = [f"-DCMAKE_INSTALL_{name}={value}" for name, value in asked.items()]
    assert CMAKE is not None
    subprocess.run([CMAKE, "-S", ROOT, "-B", build, *options], check=True, capture_output=True)
    # Where it would lie; what is relative has to be so from there.
    place = tmp_path / "root" / (Path("/prefix") / library_dir).relative_to("/") / "pkgconfig"
    place.mkdir(parents=True)
    found = variables(Path(shutil.copy(build / "cassini.pc", place)))
    for name, folder in (("libdir", library_dir), ("includedir", include_dir)):
        moved = Path(found[name]).resolve()
        at = Path("/prefix") / folder
        is_moved = not Path(folder).is_absolute() and not Path(library_dir).is_absolute()
        assert moved == (tmp_path / "root" / at.relative_to("/") if is_moved else at)
