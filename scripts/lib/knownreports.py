# SPDX-License-Identifier: GPL-2.0
"""Reports of the kernel's checks of itself that are no faults of ours, and how to leave them out.

Each has some twenty to a hundred lines. It is known by what must stand in it, so that a
similar one is not taken for it; and what else is reported within it stays. kernlog.py
searches what is left.
"""

import dataclasses
import re
from typing import Iterator, List, Optional, Sequence


@dataclasses.dataclass
class Known:
    """A report, by patterns."""

    begin: str                      # of its first line
    end: str                        # of its last line
    signs: Sequence[str]            # each is in one of its lines
    after: Optional[str] = None     # lines that follow sooner or later, up to the next report


KNOWN = (
    # A process may register the same memory twice, for which the kernel's check of DMA mappings
    # has no word. ib_umem_get() maps it, whoever the driver.
    Known(r"---\[ cut here \]---", r"---\[ end trace ",
          [r"DMA-API: (ice \S+: cacheline tracking EEXIST, overlapping mappings aren't supported|"
           r"exceeded 7 overlapping mappings of cacheline )",
           r"WARNING: CPU: \d+ PID: \d+ at kernel/dma/debug\.c:\d+ add_dma_entry",
           r" ib_umem_get\+"],
          after=r"DMA-API: Mapped at:| [\w.]+\+0x[\da-f]+/0x[\da-f]+"),
    # Without memory for a tracepoint's fields, trace_events.c makes the event's directory known
    # but not complete, and warns; once more as the directory goes with its module.
    Known(r"---\[ cut here \]---", r"---\[ end trace ",
          [r"WARNING: CPU: \d+ PID: \d+ at kernel/trace/trace_events\.c:\d+ "
           r"event_(define_fields|file_put)\+",
           r"Comm: allocation-fail ",
           r" trace_module_notify\+"]),
)
TRACE = re.compile("Call Trace:")
MOST_LINES = 5000       # of reports that are printed at once
# What stands before the text of a line, on the console and in a record.
PREFIX = re.compile(r"\[ *\d+\.\d+\] |\d+,\d+,\d+,[^;]*;")


def _report(lines: List[str], known: Known) -> List[str]:
    """The report that begins with the first line, or nothing if it is not this one.

    Several that CPUs print at once are one: each sign must be there as often as they are.
    """
    begun = ended = 0
    for count, line in enumerate(lines, 1):
        begun += bool(re.search(known.begin, line))
        ended += bool(re.search(known.end, line))
        if begun == ended:
            report = lines[:count]
            break
    else:
        return []
    right = all(sum(bool(re.search(sign, line)) for line in report) >= begun
                for sign in known.signs)
    return report if right else []


def without_known(text: str, reports: re.Pattern) -> Iterator[str]:
    """The lines of a log without those of known reports, but with what else reports finds."""
    lines = text.splitlines()
    at, after = 0, None
    while at < len(lines):
        begins = [known for known in KNOWN if re.search(known.begin, lines[at])]
        report, known = next(((found, known) for known in begins
                              if (found := _report(lines[at:at + MOST_LINES], known))), ([], None))
        if begins:
            after = known.after if known else None
        own = re.compile("|".join([known.begin, *known.signs, known.after or known.begin])
                         ) if report else None
        for line in report:
            if reports.search(line) and not own.search(line) and not TRACE.search(line):
                yield line
        if not report and not (after and re.match(after, PREFIX.sub("", lines[at], 1))):
            yield lines[at]
        at += len(report) or 1
