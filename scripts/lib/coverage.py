# SPDX-License-Identifier: GPL-2.0
"""Coverage of drivers/irdma by a kernel with gcov.

The kernel shows a .gcda file for each instrumented object in debugfs, under
the path that the object had when it was compiled; beside the object lies a
.gcno file. gcov joins the two. Lines of headers are counted in each object
that uses them, and are added up here.
"""

import base64
import dataclasses
import io
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from common import TOP, Trouble, need

GCOV = "gcov-12"        # of the compiler that makes the kernel's objects
DRIVER = "drivers/irdma/"

# Run in the guest: all counters of the driver's objects, as a base64 tar.
COLLECT = r"""
cd /sys/kernel/debug/gcov && find . -path '*/drivers/irdma/*.gcda' | while read -r file; do
    mkdir -p "/tmp/gcov/${file%/*}" && cat "$file" >"/tmp/gcov/$file"
done
cd /tmp/gcov && tar -cz . | base64
"""


@dataclasses.dataclass
class File:
    """Counts of one source file."""

    lines: Dict[int, int] = dataclasses.field(default_factory=dict)
    # (line, number of the branch in it): how often it was taken
    branches: Dict[Tuple[int, int], int] = dataclasses.field(default_factory=dict)

    def missed(self) -> List[int]:
        return sorted(line for line, count in self.lines.items() if not count)

    def missed_branches(self) -> List[int]:
        """Lines with a branch that was never taken."""
        return sorted({line for (line, _), count in self.branches.items() if not count})

    def taken(self, line: int) -> List[int]:
        """How often each branch of a line was taken."""
        return [count for (at, _), count in sorted(self.branches.items()) if at == line]


Coverage = Dict[str, File]


def _reports(archive: bytes, objects: Path) -> Iterator[dict]:
    """gcov's report of each object."""
    need(GCOV, GCOV.replace("gcov", "gcc"))
    with tempfile.TemporaryDirectory() as folder, \
            tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if not member.isfile():
                continue
            at = member.name.rindex(DRIVER)
            data = Path(folder) / member.name[at:].replace("/", "-")
            data.write_bytes(tar.extractfile(member).read())
            notes = objects / Path(member.name[at:]).with_suffix(".gcno")
            data.with_suffix(".gcno").write_bytes(notes.read_bytes())
            done = subprocess.run([GCOV, "-b", "-c", "--json-format", "--stdout", data.name],
                                  cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise Trouble(f"{GCOV} does not understand {member.name}: {done.stderr.strip()}")
            for line in done.stdout.splitlines():
                if line.startswith("{"):
                    yield json.loads(line)


def read(output: str, objects: Path) -> Coverage:
    """What COLLECT printed, as counts by source file; objects: the build folder."""
    found: Coverage = {}
    for report in _reports(base64.b64decode(output), objects):
        for part in report["files"]:
            at = part["file"].find(DRIVER)
            if at < 0:
                continue
            file = found.setdefault(part["file"][at:], File())
            for line in part["lines"]:
                number = line["line_number"]
                file.lines[number] = file.lines.get(number, 0) + line["count"]
                for i, branch in enumerate(line["branches"]):
                    key = (number, i)
                    file.branches[key] = file.branches.get(key, 0) + branch["count"]
    if not found:
        raise Trouble("the kernel has counted nothing of drivers/irdma")
    return found


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def total(coverage: Coverage) -> float:
    """Lines that have run, of all, in percent."""
    lines = [count for file in coverage.values() for count in file.lines.values()]
    return percent(sum(1 for count in lines if count), len(lines))


def _ranges(lines: List[int]) -> str:
    """12-14 20 22-23"""
    parts: List[List[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def table(coverage: Coverage) -> str:
    """A line for each file: percent of lines, of branches, what was missed."""
    rows = [f"{'lines':>6} {'branches':>9}  file, and lines that did not run"]
    for name, file in sorted(coverage.items()):
        if not (TOP / name).exists():
            continue
        lines = percent(len(file.lines) - len(file.missed()), len(file.lines))
        taken = sum(1 for count in file.branches.values() if count)
        branches = percent(taken, len(file.branches))
        rows.append(f"{lines:5.1f}% {branches:8.1f}%  {name} {_ranges(file.missed())}".rstrip())
    rows.append(f"{total(coverage):5.1f}%            all of drivers/irdma")
    return "\n".join(rows)
