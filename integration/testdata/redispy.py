"""Drives redis-py's Lock for the tests of redlock.

The URL of the master is the first argument. Each line of standard input is a request, each line of standard output the
answer to it, both JSON. Ends with standard input.
"""

import json
import sys

import redis


def acquire(client, locks, ask):
    lock = client.lock(ask["name"], timeout=ask["seconds"] or None, sleep=0.005)
    if not lock.acquire(blocking=False):
        return {"done": False}
    locks[ask["name"]] = lock
    return {"done": True, "value": lock.local.token.decode()}


def extend(client, locks, ask):
    try:
        return {"done": locks[ask["name"]].reacquire()}
    except redis.exceptions.LockError:
        return {"done": False}


def release(client, locks, ask):
    try:
        locks.pop(ask["name"]).release()
        return {"done": True}
    except redis.exceptions.LockError:
        return {"done": False}


def main():
    client = redis.Redis.from_url(sys.argv[1])
    does = {"acquire": acquire, "extend": extend, "release": release}
    locks = {}
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            answer = does[ask["do"]](client, locks, ask)
        except Exception as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


main()
