# SPDX-License-Identifier: GPL-2.0
"""Differences between two drivers' traces, and the list of those that are meant.

compare() takes the phases of the stock driver and of ours (tracerun.py) and
returns differences, each with a text that patterns can match:

    - LABEL                   stock did it, ours did not
    + LABEL                   ours did it, stock did not
    > LABEL                   both did it, in another order
    ~ LABEL.FIELD A -> B      both did it, stock with A, ours with B; "." is 0

Commands, registers and resets are one sequence. Doorbells, completions and
interrupt controls are compared for each queue or vector by itself and in runs,
since how often a queue is armed again depends on when its event is taken; what
the kernel does in the background (flushes, statistics) as well.
"""

import dataclasses
import difflib
import fnmatch
import re
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from common import Trouble
from tracenames import CCQ, Line, Reader, is_background
from tracerun import PHASES, USER_PHASES, Phase


@dataclasses.dataclass
class Difference:
    """One difference: phase, text for patterns, and where it was."""

    phase: str
    text: str
    where: str = ""
    rule: Optional[str] = None      # why it may be, see Rules


# ---- comparison ----

def _sequence(phase: str, lines: Iterable[Line]) -> List[Line]:
    """What the driver did in order: commands and registers, and how the CCQ is armed at first."""
    found = []
    armed = phase != "bring-up"
    for line in lines:
        if line.kind in ("cqp", "reg") and not is_background(line):
            found.append(line)
        elif line.label == "arm.kernel" and line.subject == CCQ and not armed:
            armed = True
            found.append(line)
    return found


def _lives(lines: Iterable[Line]) -> Dict[str, List[Line]]:
    """What happened to each object: doorbells and the like in runs, and background commands.

    Each goes with the commands of the object, but not with the other: who is
    first of a process that posts work and a flush is luck.
    """
    lives: Dict[str, List[Line]] = {}
    for line in lines:
        background = is_background(line)
        if line.subject == CCQ and line.kind == "doorbell":
            continue
        subject = line.subject or (line.label if background else "")
        for kind in ("background", "doorbells"):
            if not subject or (line.kind != "cqp" or background) and (
                    background != (kind == "background")):
                continue
            life = lives.setdefault(f"{subject} {kind}", [])
            if line.kind == "cqp" or not life or life[-1].label != line.label:
                life.append(line)
    return lives


def _fields(stock: Line, ours: Line) -> Iterator[str]:
    for name in dict.fromkeys([*stock.fields, *ours.fields]):
        a, b = stock.fields.get(name, "."), ours.fields.get(name, ".")
        if a != b:
            yield f"~ {stock.label}.{name} {a} -> {b}"


def _align(stock: Sequence[Line], ours: Sequence[Line]) -> Iterator[Tuple[str, Line, Line]]:
    """Pairs of lines with how they belong together: "=", ">" (moved), "-" or "+"."""
    def keys(lines):
        return [(line.label, line.subject) for line in lines]
    matcher = difflib.SequenceMatcher(None, keys(stock), keys(ours), autojunk=False)
    gone: List[Line] = []
    come: List[Line] = []
    for op, a, b, c, d in matcher.get_opcodes():
        if op == "equal":
            for pair in zip(stock[a:b], ours[c:d]):
                yield ("=", *pair)
        else:
            gone += stock[a:b]
            come += ours[c:d]
    for line in gone:
        twin = next((o for o in come if (o.label, o.subject) == (line.label, line.subject)), None)
        if twin:
            come = [other for other in come if other is not twin]
        yield (">", line, twin) if twin else ("-", line, line)
    for line in come:
        yield "+", line, line


def _compare(phase: str, stock: Sequence[Line], ours: Sequence[Line],
             told: bool) -> Iterator[Difference]:
    """Differences of two sequences; told: commands are compared elsewhere."""
    for how, a, b in _align(stock, ours):
        if told and a.kind == "cqp" and not is_background(a):
            continue
        if how != "=":
            yield Difference(phase, f"{how} {a.label}", a.subject)
        if how in "=>":
            for text in _fields(a, b):
                yield Difference(phase, text, a.subject)


def compare(stock: Sequence[Phase], ours: Sequence[Phase]) -> List[Difference]:
    """All differences between two runs, in the order of the phases."""
    readers = Reader(), Reader()
    found: List[Difference] = []
    for name, *pair in zip(PHASES, stock, ours):
        user = name in USER_PHASES
        a, b = (reader.lines(name, phase.events, user) for reader, phase in zip(readers, pair))
        found += _compare(name, _sequence(name, a), _sequence(name, b), False)
        lives = _lives(a), _lives(b)
        for subject in sorted(set(lives[0]) | set(lives[1])):
            found += _compare(name, *(life.get(subject, []) for life in lives), True)
        said, heard = (phase.output.splitlines() for phase in pair)
        for line in difflib.ndiff(_plain(said), _plain(heard)):
            if line[0] in "+-":
                found.append(Difference(name, f"{line[0]} output: {line[2:]}"))
    return found


def _plain(output: Iterable[str]) -> List[str]:
    """A program's output without numbers of queue pairs, counts of events, and what
    --lenient is for."""
    return [re.sub(r"qp \d+|\d+ events", lambda m: m[0].strip("0123456789"), line)
            for line in output if not re.search(r", set was |not given back", line)]


# ---- what may differ ----

@dataclasses.dataclass
class Pattern:
    """Phases and text that a difference may have, for one kernel or all."""

    rule: str
    line: str
    phases: List[str]
    text: str
    kernel: Optional[str]
    maybe: bool             # need not occur
    used: int = 0

    def matches(self, difference: Difference) -> bool:
        return (any(fnmatch.fnmatchcase(difference.phase, p) for p in self.phases) and
                fnmatch.fnmatchcase(difference.text, self.text))


class Rules:
    """The differences that are meant, out of Documentation/differences.rst.

    A section that has a literal block is a rule: its title is the rule's name,
    each line of the block a pattern, the text below the reason. A pattern is

        [KERNEL] [maybe] PHASE[,PHASE...] TEXT

    with * and ? in phases and text; "maybe": it does not occur in each run.
    """

    def __init__(self, path: Path, kernel: str) -> None:
        self.patterns = [p for p in _parse(path) if p.kernel in (None, kernel)]

    def explain(self, differences: Iterable[Difference]) -> None:
        """Write into each difference the rule that allows it."""
        for difference in differences:
            for pattern in self.patterns:
                if pattern.matches(difference):
                    pattern.used += 1
                    difference.rule = difference.rule or pattern.rule

    def unused(self) -> List[Pattern]:
        """Patterns that nothing has matched although something should."""
        return [p for p in self.patterns if not p.used and not p.maybe]


def _parse(path: Path) -> Iterator[Pattern]:
    lines = path.read_text().splitlines()
    title, block = "", False
    reasons: Dict[str, str] = {}
    found: List[Pattern] = []
    for line, below in zip(lines, [*lines[1:], ""]):
        if line and below and set(below) == {"-"} and len(below) >= len(line):
            title, block = line, False
        elif line == "::":
            block = True
        elif block and title and line.startswith("   "):
            found.append(_pattern(title, line.strip()))
        elif line and set(line) - set("-="):
            block = False
            reasons[title] = reasons.get(title, "") + line
    bare = {p.rule for p in found if not reasons.get(p.rule)}
    if bare:
        raise Trouble(f"{path.name}: no reason for {', '.join(sorted(bare))}")
    return iter(found)


def _pattern(rule: str, line: str) -> Pattern:
    match = re.fullmatch(r"(?:\[([\d.]+)\] +)?(maybe +)?(\S+) +(.+)", line)
    if not match:
        raise Trouble(f"differences.rst: no pattern: {line}")
    # Brackets are no sets here.
    text = match[4].replace("[", "[[]")
    return Pattern(rule, line, match[3].split(","), text, match[1], bool(match[2]))
