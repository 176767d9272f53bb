#!/usr/bin/env python3
"""Judges a history.edn of the chaos harness, and shares no code with its checkers.

  python3 chaos/judge/judge.py chaos-report/.../history.edn    (or a file that gzip compressed)

Exclusion: from the ok of an acquire to the invoke of its release no other holder has the key, unless both may share it.
(The lock is then linearizable as a mutex: let each acquire take effect at its ok, each release at its invoke.)
Slots: a semaphore never has more permits than slots, and no slot has two. Two permits have one slot if their tokens
leave the same remainder when divided by the number of slots.
Fencing: of two holds with a token that exclude each other, one whose acquire was invoked after the other's was ok has
the larger token; a reader's may equal the other's. No two such holds have the same token, readers excepted. The permits
of a semaphore are compared in the same way, although they share the key.
Register: each cas of a register "fenced/..." finds the value that it expects.

Prints what it examined. Exit status: 0 no violation, 1 a violation, 2 no history.
"""

import gzip
import math
import re
import sys
from collections import defaultdict

FIELD = re.compile(r':([a-z]+) (nil|:[a-z]+|-?\d+|"(?:[^"\\]|\\.)*"|\[-?\d+ -?\d+\])(?:, |}$)')


def parse(line):
    """Returns the op of a line: an EDN map with keywords, integers, strings, nil and pairs of integers."""
    op, rest = {}, line[1:]
    while rest:
        m = FIELD.match(rest)
        if not m:
            raise ValueError(f"not an op: {line}")
        key, text = m.groups()
        if text == "nil":
            op[key] = None
        elif text[0] == ":":
            op[key] = text[1:]
        elif text[0] == '"':
            op[key] = re.sub(r"\\(.)", r"\1", text[1:-1])
        elif text[0] == "[":
            op[key] = [int(n) for n in text[1:-1].split()]
        else:
            op[key] = int(text)
        rest = rest[m.end():]
    return op


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        ops = [parse(line.rstrip("\n")) for line in file]
    if [op["index"] for op in ops] != list(range(len(ops))):
        raise ValueError("the indices are not 0, 1, 2, ...")
    if any(a["time"] > b["time"] for a, b in zip(ops, ops[1:])):
        raise ValueError("the times decrease")
    return ops


def holds(ops):
    """Returns the holds of each key: asked, begin and end, token, and who may share."""
    found, asked, open_ = defaultdict(list), {}, {}
    for op in ops:
        who = (op["key"], op["process"])
        if op["f"] == "acquire" and op["type"] == "invoke":
            asked[who] = op
        elif op["f"] == "acquire" and op["type"] == "ok":
            open_[who] = {
                "asked": asked[who]["time"], "begin": op["time"], "end": None, "token": op["value"], "op": op,
                "sharing": sharing(op),
            }
            found[op["key"]].append(open_[who])
        elif op["f"] == "release" and op["type"] == "invoke":
            open_.pop(who)["end"] = op["time"]
    return found


def sharing(op):
    """Returns what two holds must have in common to share a key; None for a hold that shares it with no other."""
    if op["mode"] == "reader":
        return "readers"
    if op["mode"] == "reentrant":
        return ("owner", op["owner"])
    if op["mode"] == "semaphore":
        return ("slots", op["slots"])
    return None


def excludes(a, b):
    return a["sharing"] is None or a["sharing"] != b["sharing"]


def overlaps(all_):
    """Returns each hold, with the holds that began earlier and have not ended."""
    active = []
    for h in sorted(all_, key=lambda h: (h["begin"], ends(h))):
        active = [o for o in active if ends(o) > h["begin"]]
        yield h, active
        active.append(h)


def ends(h):
    return math.inf if h["end"] is None else h["end"]


def exclusion(key, all_):
    for h, active in overlaps(all_):
        for o in active:
            if excludes(h, o):
                yield f'{key}: {describe(h)} while {describe(o)}'


def slots(key, all_):
    for h, active in overlaps(h for h in all_ if h["op"]["mode"] == "semaphore"):
        n, others = h["op"]["slots"], [o for o in active if o["sharing"] == h["sharing"]]
        if len(others) >= n:
            yield f'{key}: {describe(h)} while {len(others)} others have the {n} slots'
        for o in others:
            if h["token"] and o["token"] and (h["token"] - o["token"]) % n == 0:
                yield f'{key}: one slot for {describe(h)} and {describe(o)}'


def fencing(key, all_):
    first = {}  # a hold goes on in the same process after it was extended late, with the same token
    for h in all_:
        if h["token"]:
            first.setdefault(h["op"]["process"], h)
    owners = {}  # of each token, the holds that are no readers
    begun = sorted(first.values(), key=lambda h: h["begin"])
    largest = {}  # of the holds that have begun, for each group that shares
    for h in sorted(first.values(), key=lambda h: h["asked"]):
        while begun and begun[0]["begin"] < h["asked"]:
            o = begun.pop(0)
            group = fenced_with(o)
            if group not in largest or largest[group]["token"] < o["token"]:
                largest[group] = o
        reads = h["op"]["mode"] == "reader"
        for group, o in largest.items():
            if group is not None and group == fenced_with(h):
                continue
            if h["token"] < o["token"] or (h["token"] == o["token"] and not reads):
                yield f'{key}: no larger token for {describe(h)} after {describe(o)}'
        if not reads:
            for o in owners.setdefault(h["token"], []):
                if fenced_with(h) is None or fenced_with(h) != fenced_with(o):
                    yield f'{key}: one token for {describe(h)} and {describe(o)}'
            owners[h["token"]].append(h)


def fenced_with(h):
    """Like sharing, but each permit of a semaphore has a token of its own."""
    return None if h["op"]["mode"] == "semaphore" else h["sharing"]


def register(key, ops):
    value = 0
    for op in ops:
        if op["f"] == "cas" and op["type"] == "ok":
            if op["value"][0] != value:
                yield f'{key}: {op["value"]} at {op["time"]} over {value}: an update is lost'
            value = op["value"][1]


def describe(h):
    return f'process {h["op"]["process"]} ({h["op"]["mode"]}, token {h["token"]}) from {h["begin"]} to {h["end"]}'


def main(path):
    try:
        ops = read(path)
    except (OSError, ValueError, KeyError) as err:
        print(f"no history: {err}", file=sys.stderr)
        return 2
    if not ops:
        print("no history: the file is empty", file=sys.stderr)
        return 2
    findings, n, tokens, writes = [], 0, 0, 0
    for key, all_ in holds(ops).items():
        n += len(all_)
        tokens += sum(1 for h in all_ if h["token"])
        findings += [f"exclusion: {f}" for f in exclusion(key, all_)]
        findings += [f"slots: {f}" for f in slots(key, all_)]
        findings += [f"fencing: {f}" for f in fencing(key, all_)]
    registers = defaultdict(list)
    for op in ops:
        if op["f"] in ("read", "cas"):
            registers[op["key"]].append(op)
    for key, of in registers.items():
        if key.startswith("fenced/"):
            writes += sum(1 for op in of if op["f"] == "cas" and op["type"] == "ok")
            findings += [f"register: {f}" for f in register(key, of)]
    print(f"{len(ops)} ops, {n} holds, {tokens} with a token, {writes} writes to fenced registers")
    for f in findings:
        print(f)
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
