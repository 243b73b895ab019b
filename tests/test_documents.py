# SPDX-License-Identifier: GPL-2.0
"""Documentation that must not fall behind the sources."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Iterator, List, Set, Tuple

from common import SCRIPTS, TOP
from testing import Skip, test

# What writes to the log, and what only hands a text on to that: its reasons are listed as well.
LOGGERS = re.compile(r"\b(shim_log|shim_log_limited|shim_warn_once|pr_\w+|dev_(?:err|warn|info|dbg)|"
                     r"ibdev_\w+|declare_dead|refuse)\s*\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# The function that all lines go through.
PLUMBING = Path("shim/log.c")
# qp_plan.cpp hands attributes to "refused %s", which are the verbs' own names.
ATTRIBUTES = Path("drivers/irdma/verbs/qp_plan.cpp")


def sources() -> Iterator[Tuple[Path, str]]:
    for folder, pattern in (("drivers/irdma", "**/*.cpp"), ("drivers/irdma", "**/*.h"),
                            ("shim", "*.c"), ("shim", "*.h")):
        for path in sorted((TOP / folder).glob(pattern)):
            yield path.relative_to(TOP), path.read_text()


def arguments(text: str, begin: int) -> str:
    """What stands in the brackets that were opened before."""
    depth, at = 1, begin
    while depth:
        match = STRING.match(text, at)
        if match:
            at = match.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1]


def first_string(args: str) -> str:
    """The first string of the arguments, its adjacent parts joined."""
    match = re.search(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*', args)
    text = "".join(STRING.findall(match[0])) if match else ""
    return text.removesuffix("\\n").replace('\\"', '"')


def messages() -> Iterator[Tuple[str, str]]:
    """Where, and the format."""
    for path, text in sources():
        if path == PLUMBING:
            continue
        for match in LOGGERS.finditer(text):
            if match[1] == "refuse" and path == ATTRIBUTES:
                continue
            found = first_string(arguments(text, match.end()))
            if found:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}", found


def literals(name: str) -> List[str]:
    """All literals of a page, as the sources have them."""
    return re.findall(r"``(.+?)``", (TOP / "Documentation" / name).read_text())


@test(needs=(), guests=0, kernels=None, timeout=60)
def messages_are_explained() -> None:
    """Documentation/messages.rst has each message of the driver, and none that is gone."""
    known = set(literals("messages.rst"))
    formats = list(messages())
    assert len(formats) > 70, formats
    missing = [f"{where}: {text}" for where, text in formats if text not in known]
    assert not missing, "\n".join(["not in Documentation/messages.rst:", *missing])

    page = (TOP / "Documentation/messages.rst").read_text()
    terms = set(re.findall(r"^``(.+)``$", page, re.M))
    stale = terms - {text for _, text in formats}
    assert not stale, f"in Documentation/messages.rst, but of no source: {stale}"


@test(needs=(), guests=0, kernels=None, timeout=60)
def events_are_explained() -> None:
    """Documentation/messages.rst names each asynchronous event, and tracing.rst each tracepoint."""
    codes = (TOP / "drivers/irdma/hw/ae_codes.h").read_text()
    enum = codes[codes.index("enum class AeCode"):codes.index("};")]
    names: Set[str] = set(re.findall(r"(\w+) = 0x\w+,", enum))
    assert len(names) > 80 and not names - set(literals("messages.rst")), \
        names - set(literals("messages.rst"))

    header = (TOP / "shim/shim_trace.h").read_text()
    points = set(re.findall(r"^TRACE_EVENT_FN\((\w+),", header, re.M))
    assert points and not points - set(literals("tracing.rst")), points


@test(needs=("kernels",), guests=0, kernels=None, timeout=300, full=True)
def build() -> None:
    """Pages, kernel-doc of the shim and Doxygen of the C++ build without a warning."""
    if not shutil.which("sphinx-build") or not shutil.which("doxygen"):
        raise Skip("packages python3-sphinx and doxygen are not installed")
    assert not subprocess.run([str(SCRIPTS / "docs")]).returncode
