"""Layouts of structs are those of gcc."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polysched.frontends.scop.declare.variables import typedefs_of
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text
from polysched.frontends.scop.types.layouts import Layouts
from tests.frontends.scop.calling import needs_gcc

STRUCTS = [
    "char a; double b; char c;",
    "short a; char b[5]; int c;",
    "struct { char a; short b; } p[3]; long q;",
    "float v[2][3]; unsigned char last;",
    "int n; float *data; char *name; _Bool flag;",
    "void (*call)(int); int after; enum { RED } color; char z;",
    "triple t; kind k; short last;",
]


@needs_gcc
@pytest.mark.parametrize("members", STRUCTS)
def test_offsets(members: str, tmp_path: Path) -> None:
    text = f"typedef float triple[3]; typedef enum {{ ONE }} kind; struct s {{ {members} }};"
    parsed = parse(source_text(f"{text} void f(struct s *x) {{ x->last = 0; }}", "a.c"), "f")
    layouts = Layouts(parsed, typedefs_of(parsed.tree))
    struct = next(node.type for node in parsed.tree.ext if getattr(node, "name", 0) is None)
    layout = layouts.layout(struct, parsed.tree.ext[0])
    printed = [(0, layout.size), *((one.offset, 0) for one in layout.members)]
    names = [".".join(one.path).replace("p.", "p[0].") for one in layout.members]
    offsets = "".join(f'printf("%zu ", offsetof(struct s, {name}));' for name in names)
    program = tmp_path / "a.c"
    program.write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n{text}\n"
        f'int main(void) {{ printf("%zu ", sizeof(struct s)); {offsets} }}'
    )
    subprocess.run(["gcc", "-w", str(program), "-o", str(tmp_path / "a")], check=True)
    found = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True).stdout
    assert [int(one) for one in found.split()] == [layout.size, *(at for at, _ in printed[1:])]
