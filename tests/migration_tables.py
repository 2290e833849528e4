"""The tables of doc/migrating.md as data, for their tests and for the shims made from them."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "doc" / "migrating.md"
NONE = "—"


@dataclass
class Row:
    table: str  # what one comes from
    theirs: list[str]
    ours: list[str]  # cells, one for each of our classes
    remark: str


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def read_tables():
    """Our classes of each table, by the name of theirs; and all rows."""
    classes, rows, table = {}, [], None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            table = None
            continue
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if set(line) <= set("|-"):
            continue
        if table is None:
            (table,) = code(cells[0])
            classes[table] = [name.split("(")[0] for cell in cells[1:-1] for name in code(cell)]
        else:
            assert len(cells) == len(classes[table]) + 2, line
            rows.append(Row(table, code(cells[0]), cells[1:-1], cells[-1]))
    return classes, rows


CLASSES, ROWS = read_tables()
