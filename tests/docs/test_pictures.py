"""The pictures of docs/pictures.md are those that its commands draw; compared by their texts, whatever the fonts."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from cassini_core.cli import main
from pages import ROOT

IMAGES = ROOT / "docs" / "images"

MOST_BYTES = 100_000


def commands() -> dict[str, list[str]]:
    """What ``docs/images/pictures.py`` runs."""
    spec = importlib.util.spec_from_file_location("pictures", IMAGES / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[str]] = module.commands()
    return found


COMMANDS = commands()


def texts(picture: Path) -> list[str]:
    return re.findall("<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_picture_says_what_its_command_draws(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    drawn = tmp_path / f"{name}.svg"
    assert main([*COMMANDS[name], "-o", str(drawn)]) == 0
    light, dark = IMAGES / f"{name}.svg", IMAGES / f"{name}-dark.svg"
    assert texts(light) == texts(dark) == texts(drawn) != []
    assert light.stat().st_size < MOST_BYTES
    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    assert f'src="images/{name}.svg"' in page
    assert f'srcset="images/{name}-dark.svg"' in page


def test_every_kind_has_its_picture() -> None:
    assert set(COMMANDS) == {"job", "circles", "demand", "affinity", "landscape", "candidates"}
