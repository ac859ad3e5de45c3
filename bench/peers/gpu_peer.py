#!/usr/bin/env python3
"""The rows of weft-bench-gpu in CuPy, JAX, PyTorch or Dr.Jit. A system lacks the rows that it has no natural way to write.

    gpu_peer.py NAME [--side 16384] [--budget SECONDS] [--seconds ALL] [--rows NAME,PART] [--json FILE] [--list] [--host]

NAME: cupy, jax, torch or drjit. A missing package is reported and is no failure. --seconds: rows that would begin later
are skipped and reported. --host: runs on the processor (not CuPy), to check this file without a GPU.

As in weft-bench-gpu, a turn queues some calls on the device and waits once, by the host's clock. Results are checked
first. The median and the minimum of the turns are reported.
"""
import argparse
import json
import statistics
import sys
import time

from gpu_libraries import LIBRARIES
from gpu_rows import Sizes

TURN, CALLS, ROUNDS = 8e-3, 500, 201
now = time.perf_counter


def measure(lib, prepare, budget):
    call = prepare()

    def turn(calls):
        start = now()
        for _ in range(calls):
            last = call()
        lib.wait(last)
        return (now() - start) / calls
    took, calls = turn(1), 1
    for _ in range(3):
        if took > TURN / 2:
            break
        calls = max(1, min(CALLS, int(TURN / took)))
        took = turn(calls)
    times = []
    rounds = max(3, min(ROUNDS, int(budget / max(took * calls, 1e-6))))
    for _ in range(rounds):
        times.append(turn(calls))
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=LIBRARIES)
    parser.add_argument("--side", type=int, default=16384)
    parser.add_argument("--budget", type=float, default=0.3)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--rows", default="")
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--host", action="store_true")
    options = parser.parse_args()
    lines = open(options.json, "w", encoding="ascii") if options.json else None
    begun, failed = now(), False

    def say(**line):
        if lines:
            print(json.dumps(line | {"who": options.name}), file=lines, flush=True)
    try:
        lib = LIBRARIES[options.name](Sizes(options.side), options.host)
        rows = lib.rows()
    except Exception as error:  # packages differ in what they raise without a device
        text = f"{type(error).__name__}: {error}".split("\n")[0]
        print(f"{options.name}: not here ({text})")
        say(missing=text)
        return 0
    print(f"{options.name} {lib.version}")
    say(version=lib.version)
    chosen = [part for part in options.rows.split(",") if part]
    for row, prepare in rows.items():
        if chosen and not any(part in row for part in chosen):
            continue
        if options.list:
            print(row)
            continue
        if now() - begun > options.seconds:
            print(f"{row:20} left out: no time")
            say(row=row, skipped="no time")
            continue
        try:
            times = measure(lib, prepare, options.budget)
            say(row=row, median=statistics.median(times), least=min(times), turns=len(times))
            print(f"{row:20} {statistics.median(times) * 1e6:14.2f} us", flush=True)
        except Exception as error:
            text = f"{type(error).__name__}: {error}".split("\n")[0][:200]
            print(f"{row:20} failed: {text}", flush=True)
            say(row=row, error=text)
            failed = True
        if options.name == "cupy":
            lib.cp.get_default_memory_pool().free_all_blocks()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
