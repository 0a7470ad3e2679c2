"""The binary interface of the C header as text, to be compared with csrc/abi/cassini.abi.

``python tests/support/abi_list.py`` prints the interface of the installed package; ``--update`` writes the committed
list. What may change under one ``CASSINI_ABI_VERSION`` is said in cassini.h under "Growing".
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

from cassini_core.install_paths import include_dir, library

COMMITTED = Path(__file__).parents[2] / "csrc" / "abi" / "cassini.abi"

# pycparser knows no attributes and needs no more of the system's headers than these names.
FAKE_STDINT = "typedef int int32_t;\ntypedef long int64_t;\ntypedef unsigned char uint8_t;\n"

ABOUT = """\
# The binary interface of cassini.h on x86-64 and other LP64 systems: sizes and offsets in bytes.
# Made by `python tests/support/abi_list.py --update`.
# tests/kernel/test_abi.py fails where the header or the library differs.
"""


def compiler() -> str | None:
    """A C compiler, or None."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def exported_symbols(path: Path) -> list[str]:
    """Names that the library defines for others."""
    out = subprocess.run(["nm", "-D", "--defined-only", "-P", str(path)], check=True, capture_output=True, text=True)
    return sorted(line.split()[0].partition("@")[0] for line in out.stdout.splitlines())


def describe(include: Path) -> str:
    """The interface of ``include/cassini/cassini.h`` as the committed list has it."""
    header = include / "cassini" / "cassini.h"
    tree = _parse(header)
    structs = {
        node.type.type.name: node.type.type.decls
        for node in tree.ext
        if isinstance(node, c_ast.Typedef) and isinstance(node.type.type, c_ast.Struct) and node.type.type.decls
    }
    constants = re.findall(r"^#define (CASSINI_[A-Z_]+) +[(\d]", header.read_text(), re.MULTILINE)
    fields = {name: [_field(decl) for decl in decls] for name, decls in structs.items()}
    measured = _measure(include, constants, {name: [f for f, _ in known] for name, known in fields.items()})

    lines = [f"constant {name} {measured[name]}" for name in constants]
    for name, known in fields.items():
        lines.append(f"struct {name} size {measured[name]}")
        lines += [f"  {measured[f'{name}.{field}']} {declaration}" for field, declaration in known]
    generator = c_generator.CGenerator()
    functions = [d for d in tree.ext if isinstance(d, c_ast.Decl) and isinstance(d.type, c_ast.FuncDecl)]
    lines += ["function " + " ".join(generator.visit(d).split()) for d in functions]
    return ABOUT + "\n".join(lines) + "\n"


def _parse(header: Path) -> c_ast.FileAST:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "stdint.h").write_text(FAKE_STDINT)
        command = [str(compiler()), "-E", "-P", "-nostdinc", "-I", folder, "-D__attribute__(x)=", str(header)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return c_parser.CParser().parse(done.stdout)


def _field(decl: c_ast.Decl) -> tuple[str, str]:
    return str(decl.name), " ".join(c_generator.CGenerator().visit(decl).split())


def _measure(include: Path, constants: list[str], fields: dict[str, list[str]]) -> dict[str, int]:
    """Values, sizes and offsets as the compiler has them."""
    asked = {name: f"(long long){name}" for name in constants}
    for struct, names in fields.items():
        asked[struct] = f"(long long)sizeof({struct})"
        asked.update({f"{struct}.{name}": f"(long long)offsetof({struct}, {name})" for name in names})
    body = "".join(f'  printf("{name} %lld\\n", {value});\n' for name, value in asked.items())
    source = "#include <stddef.h>\n#include <stdio.h>\n#include <cassini/cassini.h>\nint main(void) {\n" + body
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "layout")
        Path(folder, "layout.c").write_text(source + "  return 0;\n}\n")
        build = [str(compiler()), "-std=c99", "-I", str(include), str(program) + ".c", "-o", str(program)]
        subprocess.run(build, check=True)
        out = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: int(line.split()[1]) for line in out.splitlines()}


def main() -> None:
    """Print the list, or write it."""
    text = describe(include_dir())
    if sys.argv[1:] == ["--update"]:
        COMMITTED.write_text(text)
    else:
        print(text, end="")
        print("exported by", library().name, *exported_symbols(library()))


if __name__ == "__main__":
    main()
