#!/usr/bin/env python3
"""Judges a history.jsonl of the chaos harness, and shares no code with its checkers.

  python3 chaos/judge/judge.py chaos-report/.../history.jsonl

A holder believes in its lock from the return of Lock until Unlock is called, or until the last deadline that it knows.

Exclusion: while a holder believes, no other holder of the name does, unless both may share it.
Slots: a semaphore never has more permits than slots, and no slot has two. Two permits have one slot if their tokens
leave the same remainder when divided by the number of slots.
Fencing: of two holds with a token that exclude each other, one that was asked for after the other had been acquired has
the larger token; a reader's may equal the other's. No two such holds have the same token, readers excepted. The permits
of a semaphore are compared in the same way, although they share the name.
Register: each write that a fenced register takes is made of the value that the register has.

Prints what it examined. Exit status: 0 no violation, 1 a violation, 2 no history.
"""

import json
import math
import sys
from collections import defaultdict


def read(path):
    with open(path, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    if any(a["t"] > b["t"] for a, b in zip(events, events[1:])):
        raise ValueError("the times decrease")
    return events


def identity(e):
    return e.get("client", ""), e.get("life", 0), e.get("worker", 0), e.get("op", 0)


class Hold:
    """A time in which a holder believes in its lock. Several holds of one acquisition have one identity."""

    def __init__(self, acquired, asked, begin):
        self.id, self.asked, self.begin, self.end = identity(acquired), asked, begin, math.inf
        self.token, self.mode = acquired.get("fence", 0), acquired.get("mode", "mutex")
        self.slots, self.owner = acquired.get("slots", 0), acquired.get("owner", "")

    def sharing(self):
        """Returns what two holds must have in common to share a name; None for a hold that shares it with no other."""
        return {
            "reader": "readers", "reentrant": ("owner", self.owner), "semaphore": ("slots", self.slots),
        }.get(self.mode)

    def fenced_with(self):
        """Like sharing, but each permit of a semaphore has a token of its own."""
        return None if self.mode == "semaphore" else self.sharing()

    def excludes(self, other):
        return self.sharing() is None or self.sharing() != other.sharing()

    def __str__(self):
        return f'{".".join(map(str, self.id))} ({self.mode}, token {self.token}) from {self.begin} to {self.end}'


def holds(events):
    """Returns the holds of each name."""
    found, asked, acquired, until, now = defaultdict(list), {}, {}, {}, {}

    def begin(who, e, at):
        now[who] = Hold(acquired[who], at if e is not acquired[who] else asked.get(who, at), at)
        for name in acquired[who].get("names") or [acquired[who]["name"]]:
            found[name].append(now[who])

    for e in events:
        who = identity(e)
        if e["kind"] == "invoked":
            asked[who] = e["t"]
        elif e["kind"] == "acquired":
            acquired[who], until[who] = e, e["until"]
            if until[who] > e["t"]:
                begin(who, e, e["t"])
        elif who not in until:
            continue
        elif e["kind"] == "extended":
            if who in now and until[who] <= e["t"]:
                now.pop(who).end = until[who]
            until[who] = max(e["until"], e["t"])
            if who not in now and until[who] > e["t"]:
                begin(who, e, e["t"])
        elif e["kind"] in ("release-called", "released"):
            end = min(until.pop(who), e["t"])
            if who in now:
                now.pop(who).end = end
    for who, h in now.items():
        h.end = until[who]
    return found


def overlaps(all_):
    """Returns each hold, with the holds that began earlier and have not ended."""
    active = []
    for h in sorted(all_, key=lambda h: (h.begin, h.end)):
        active = [o for o in active if o.end > h.begin]
        yield h, active
        active.append(h)


def exclusion(name, all_):
    for h, active in overlaps(all_):
        for o in active:
            if h.excludes(o):
                yield f"{name}: {h} while {o}"


def slots(name, all_):
    for h, active in overlaps(h for h in all_ if h.mode == "semaphore"):
        others = [o for o in active if o.sharing() == h.sharing()]
        if len(others) >= h.slots:
            yield f"{name}: {h} while {len(others)} others have the {h.slots} slots"
        for o in others:
            if h.token and o.token and (h.token - o.token) % h.slots == 0:
                yield f"{name}: one slot for {h} and {o}"


def fencing(name, all_):
    first = {}  # a holder that was extended late believes again, with the same token
    for h in all_:
        if h.token:
            first.setdefault(h.id, h)
    owners = defaultdict(list)  # of each token, the holds that are no readers
    begun = sorted(first.values(), key=lambda h: h.begin)
    largest = {}  # of the holds that have begun, for each group that shares
    for h in sorted(first.values(), key=lambda h: h.asked):
        while begun and begun[0].begin < h.asked:
            o = begun.pop(0)
            group = o.fenced_with()
            if group not in largest or largest[group].token < o.token:
                largest[group] = o
        reads = h.mode == "reader"
        for group, o in largest.items():
            if group is not None and group == h.fenced_with():
                continue
            if h.token < o.token or (h.token == o.token and not reads):
                yield f"{name}: no larger token for {h} after {o}"
        if not reads:
            for o in owners[h.token]:
                if h.fenced_with() is None or h.fenced_with() != o.fenced_with():
                    yield f"{name}: one token for {h} and {o}"
            owners[h.token].append(h)


def register(name, writes):
    value = 0
    for e in writes:
        if e.get("from", 0) != value:
            yield f'{name}: {e["value"]}, made of {e.get("from", 0)}, at {e["t"]} over {value}: an update is lost'
        value = e["value"]


def main(path):
    try:
        events = read(path)
        all_holds = holds(events)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as err:
        print(f"no history: {err}", file=sys.stderr)
        return 2
    if not events:
        print("no history: the file is empty", file=sys.stderr)
        return 2
    findings, n, tokens = [], 0, 0
    for name, all_ in all_holds.items():
        n += len(all_)
        tokens += sum(1 for h in all_ if h.token)
        for judge in (exclusion, slots, fencing):
            findings += [f"{judge.__name__}: {f}" for f in judge(name, all_)]
    written = defaultdict(list)
    for e in events:
        if e["kind"] == "written" and e["register"] == "fenced":
            written[e["name"]].append(e)
    for name, writes in written.items():
        findings += [f"register: {f}" for f in register(name, writes)]
    writes = sum(map(len, written.values()))
    print(f"{len(events)} events, {n} holds, {tokens} with a token, {writes} writes to fenced registers")
    for f in findings:
        print(f)
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
