# SPDX-License-Identifier: GPL-2.0
"""A device's trace in terms that do not depend on the run.

Two runs differ in what numbers, addresses and keys they use. Here each becomes
a name: an object is called after its kind and the order of appearance within
the phase (QP1, CQ2, STag1), an address or an opaque value after the object and
field that it belongs to. What depends on luck in a run (whether a process'
pages lie side by side) is folded. tracediff.py compares the result.
"""

import dataclasses
import re
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

Fields = Dict[str, object]

# Fields that hold the number of an object, whatever they occur in.
KINDS = {
    "qp": "QP", "dest_qp": "QP", "cq": "CQ", "send_cq": "CQ", "recv_cq": "CQ",
    "pd": "PD", "arp_index": "ARP", "remote_endpoint": "ARP", "ah": "AH",
    "node": "node", "parent": "node", "qs_handle": "queue-set", "group": "group",
    "parent_index": "STag",
}
STAG_COMMANDS = ("alloc_stag", "reg_mr", "reg_shared_mr", "dealloc_stag", "query_stag")
# The object of a command: its name begins a new life where the object is made.
SUBJECTS = {
    **{op: "qp" for op in ("create_qp", "modify_qp", "destroy_qp", "flush_wqes",
                           "suspend_qp", "resume_qp", "upload_context")},
    **{op: "cq" for op in ("create_cq", "modify_cq", "destroy_cq")},
    **{op: "index" for op in (*STAG_COMMANDS, "manage_arp")},
    **{op: "ah" for op in ("create_ah", "destroy_ah")},
    **{op: "group" for op in ("create_mcast", "modify_mcast", "destroy_mcast")},
    "work_sched_node": "node",
}
CREATING = ("create_qp", "create_cq", "alloc_stag", "reg_mr", "create_ah", "create_mcast")
# Where something lies, and what the device hands back without looking at it.
PLACES = ("addr", "context_addr", "shadow_addr", "sq_addr", "rq_addr", "members_addr", "buffer",
          "context", "completion_ctx", "cookie")
LARGEST_NUMBER = 1 << 20        # an opaque value below is a number, else a pointer
DROPPED = ("t", "ev", "op", "wqe", "key")
STATES = {1: "idle", 2: "rts", 3: "sqd", 4: "rtr", 6: "error"}
TYPES = {3: "rc", 4: "ud"}
NODE_OPS = {0: "add", 1: "modify", 2: "delete"}
CAUSE_ENABLE = 1 << 30          # of an interrupt cause register
PAGE = 4096
CCQ = "CCQ"


@dataclasses.dataclass
class Line:
    """A thing that the driver did, or the device, with its fields by name.

    label is what is compared first: a command with what tells its kinds apart
    ("modify_qp.rc.rtr"), a register, a doorbell. subject is the object's name.
    """

    kind: str
    label: str
    subject: str = ""
    fields: Fields = dataclasses.field(default_factory=dict)


class Names:
    """Names of one run's objects and places. Numbers are reused; names are not."""

    def __init__(self) -> None:
        self._phase = ""
        self._objects: Dict[Tuple[str, int], Tuple[str, str]] = {}
        self._counts: Dict[str, int] = {}
        self._places: Dict[str, Dict[str, List[object]]] = {}

    def begin(self, phase: str) -> None:
        """Objects that appear from now on are counted anew."""
        self._phase = phase
        self._counts = {}
        # The device never hears of a PD's end.
        self._objects = {key: name for key, name in self._objects.items() if key[0] != "PD"}

    def new(self, kind: str, number: int) -> str:
        """A name for an object that has just been made."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        name = f"{kind}{self._counts[kind]}"
        self._objects[kind, number] = self._phase, name
        self._places.pop(f"{self._phase}:{name}", None)
        return name

    def of(self, kind: str, number: int) -> str:
        """The name of an object; those of earlier phases carry the phase."""
        if kind == "CQ" and not number:
            return CCQ
        if (kind, number) not in self._objects:
            self.new(kind, number)
        phase, name = self._objects[kind, number]
        return name if phase == self._phase else f"{phase}:{name}"

    def known(self, kind: str, number: int) -> bool:
        return (kind, number) in self._objects

    def place(self, owner: str, role: str, value: str, number: int) -> str:
        """The name of an address or opaque value of the object of that number.

        The first of a role has the role's name, others a number behind it.
        """
        if int(value, 16) < LARGEST_NUMBER:
            return f"number of {owner}" if int(value, 16) == number else value
        key = owner if ":" in owner or owner == CCQ else f"{self._phase}:{owner}"
        values = self._places.setdefault(key, {}).setdefault(role, [])
        if value not in values:
            values.append(value)
        index = values.index(value)
        return f"{role}" + (f" {index + 1}" if index else "")


def is_background(line: Line) -> bool:
    """Commands of work queues and other threads than the caller's."""
    return line.label.partition(".")[0] in ("flush_wqes", "gather_stats")


def _pages(fields: Fields) -> int:
    """Pages that a region touches."""
    start = int(str(fields.get("va", "0")), 0) % PAGE
    return (start + int(str(fields.get("length", "0")), 0) + PAGE - 1) // PAGE


def _fold(fields: Fields, virtual: Optional[str], places: Iterable[str]) -> None:
    """Pages side by side or a list of them: luck, so that both become "memory".

    What does not fit together (a list and an address as well) stays as it is.
    """
    level = fields.get("pbl_level", 0)
    by_list = bool(fields.get(virtual, 0)) if virtual else bool(level)
    if by_list and virtual and "addr" in fields:
        return
    if level > 1:
        return
    for name in ("pbl_level", "first_pble", virtual, *places):
        fields.pop(name, None)
    fields["pages"] = "memory"


class Reader:
    """Turns the events of one driver's phases into lines."""

    def __init__(self) -> None:
        self.names = Names()
        self._controls: Dict[int, str] = {}     # of vectors

    def lines(self, phase: str, events: List[dict], user: bool) -> List[Line]:
        """The lines of a phase; user: its objects live in a process' memory."""
        self.names.begin(phase)
        found: List[Line] = []
        command: Optional[Line] = None
        for event in events:
            kind = event["ev"]
            if kind == "cqp":
                command = self._command(event)
                found.append(command)
            elif kind == "qp_ctx" and command:
                self._context(command, event, user)
            elif kind in ("fpm", "sd", "member") and command:
                self._detail(command, kind, event)
            elif kind == "cqp_done" and command:
                self._result(command, event)
                if user:
                    self._forget_luck(command)
            else:
                found.extend(self._other(kind, event))
        return list(_merge_segments(found))

    def _fields(self, event: dict, owner: str) -> Fields:
        """The fields by name, except what only counts or is random."""
        fields: Fields = {}
        number = event.get("qp", event.get("cq", 0))
        pd = event.get("pd", 0) | event.get("pd_hi", 0) << 16
        for name, value in event.items():
            if name in DROPPED or name == "pd_hi":
                continue
            if name == "pd":
                fields[name] = self.names.of("PD", pd)
            elif name == "dest_qp" and not self.names.known("QP", value):
                fields[name] = value
            elif name in KINDS:
                fields[name] = self.names.of(KINDS[name], value)
            elif name in PLACES:
                fields[name] = self.names.place(owner, name, value, number)
            else:
                fields[name] = value
        return fields

    def _subject(self, event: dict) -> str:
        """The name of a command's object."""
        op = event["op"]
        field = SUBJECTS.get(op)
        if field is None:
            return ""
        number = event.get(field, 0)
        kind = KINDS.get(field) or ("ARP" if op == "manage_arp" else "STag")
        makes = op in CREATING or (op == "manage_arp" and event.get("entry_valid")) or (
            op == "work_sched_node" and not event.get("node_op"))
        # The CCQ is known by its number.
        if makes and (kind, number) != ("CQ", 0):
            return self.names.new(kind, number)
        return self.names.of(kind, number)

    def _command(self, event: dict) -> Line:
        op = event["op"]
        subject = self._subject(event)
        fields = self._fields(event, subject or op)
        label = op
        if op in ("create_qp", "modify_qp", "destroy_qp"):
            label += "." + TYPES.get(fields.pop("qp_type", 0), "?")
        if op == "modify_qp":
            label += "." + STATES.get(fields.pop("next_state", 0), "?")
        if op == "flush_wqes":
            queues = event.get("flush_sq", 0), event.get("flush_rq", 0)
            label += "." + {(1, 0): "send", (0, 1): "receive"}.get(queues, "both")
        if op == "work_sched_node":
            label += "." + NODE_OPS.get(fields.pop("node_op", 0), "?")
        if op in STAG_COMMANDS or op == "manage_arp":
            fields["index"] = subject
        return Line("cqp", label, subject, fields)

    def _context(self, command: Line, event: dict, user: bool) -> None:
        if user and command.fields.pop("virtual_queues", 0):
            # Indexes of page-list entries, 0 is not shown: as if they were addresses.
            event = dict(event)
            for queue in ("sq_addr", "rq_addr"):
                event[queue] = hex(int(event.get(queue, "0"), 16) + LARGEST_NUMBER)
        for name, value in self._fields(event, command.subject).items():
            if name != "qp":
                command.fields[f"ctx.{name}"] = value

    def _detail(self, command: Line, kind: str, event: dict) -> None:
        """What a command has in memory: a field of its own for each entry."""
        if kind == "sd":
            command.fields.setdefault("segments", []).append(
                "{index} {valid} {direct}".format(**event))
        elif kind == "member":
            member = self.names.of("QP", event["qp"])
            command.fields[f"member.{member}"] = f"port {event['port']}"
        else:
            command.fields.update((f"count.{name}", count) for name, count in event.items()
                                  if name not in DROPPED)

    def _result(self, command: Line, event: dict) -> None:
        if event["op"] == "work_sched_node" and event["value"]:
            self.names.of("queue-set", event["value"])
        if event["error"] or "minor" in event:
            command.fields["result"] = f"{event.get('major', '0')}.{event.get('minor', '0')}"

    def _forget_luck(self, command: Line) -> None:
        fields, op = command.fields, command.label
        if op == "reg_mr" and _pages(fields) > 1:
            _fold(fields, None, ("addr",))
        elif op in ("create_cq", "modify_cq"):
            _fold(fields, "virtual_map", ("addr",))
        elif op == "destroy_cq":
            for name in ("pbl_level", "virtual_map", "first_pble"):
                fields.pop(name, None)

    def _other(self, kind: str, event: dict) -> Iterator[Line]:
        names = self.names
        if kind == "reg" and event["name"] == "dynctl":
            # Enabled again after an interrupt: nothing new.
            vector, value = event["vector"], event["value"]
            if self._controls.get(vector) != value:
                self._controls[vector] = value
                yield Line("vector", f"dynctl {value}", f"vector {vector}")
        elif kind == "reg" and event["name"] == "aeqalloc":
            yield Line("aeq", "aeqalloc", "AEQ", {"value": event["value"]})
        elif kind == "reg" and event["name"] == "ccqp":
            address = int(event["value"], 16)
            yield Line("reg", "ccqp." + ("create" if address else "destroy"))
        elif kind == "reg" and event["name"] in ("ceqctl", "aeqctl"):
            value = event["value"]
            what = "enable" if value & CAUSE_ENABLE else "disable" if value else "clear"
            yield Line("reg", f"{event['name']}.{what}", fields={"value": value})
        elif kind == "reg" and event["name"] != "cqpdb":
            yield Line("reg", event["name"], fields={"value": event["value"]})
        elif kind == "doorbell":
            field = "qp" if "qp" in event else "cq"
            subject = names.of(KINDS[field], event[field])
            yield Line("doorbell", f"{event['kind']}.{event['from']}", subject)
        elif kind == "cqe":
            queue = "send" if event.get("is_sq") else "receive"
            yield Line("cqe", f"cqe.{queue}.{event.get('major_error', 0)}."
                       f"{event.get('minor_error', 0)}", names.of("CQ", event["cq"]))
        elif kind == "aeqe":
            yield Line("aeq", f"ae.{event['name']}", "AEQ")
        elif kind == "guest_error":
            yield Line("reg", kind, fields={"text": re.sub(r"\d+", "N", event["text"])})
        elif kind in ("cqp_ctx", "cqp_destroy", "rdma_reset", "vsi", "cqp_mute"):
            yield Line("reg", kind, fields=self._fields(event, kind))
        elif kind == "aq" and "rdma" in str(event.get("name")):
            yield Line("reg", f"aq.{event['name']}")


def _merge_segments(lines: List[Line]) -> Iterator[Line]:
    """A run of commands for segment descriptors as one line: all descriptors."""
    merged: Optional[Line] = None
    for line in lines:
        if line.label != "update_pe_sds":
            if line.kind == "cqp" or line.label.startswith("ccqp"):
                merged = None
            yield line
            continue
        if merged is None:
            merged = Line("cqp", "update_pe_sds", fields={"segments": [], "commands": 0})
            yield merged
        merged.fields["commands"] += 1
        merged.fields["segments"] += line.fields["segments"]
        merged.fields["segments"].sort()
