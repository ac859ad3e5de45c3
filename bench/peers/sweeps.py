#!/usr/bin/env python3
"""The work of `weft bench scatter` and `weft bench packet` in Dr.Jit.

weft-bench-cli starts this file as `sweeps.py scatter ADDITIONS MOST THREADS` or `sweeps.py packet ELEMENTS THREADS`. The
first line of the output is `version VERSION`. Each further line is one measurement: its place in the table (row and
column, as the C side numbers them), then its time.
"""
import sys
import time

import drjit as dr
from drjit.llvm import PCG32, ArrayXf, Float, UInt32


def least(work):
    """Seconds of the fastest of a few calls, after one call that warms up."""
    best, spent = 1e9, 0
    for k in range(6):
        dr.sync_thread()
        start = time.perf_counter()
        work()
        dr.sync_thread()
        seconds = time.perf_counter() - start
        if k:
            best = min(best, seconds)
            spent += seconds
        if k > 1 and spent > 2:
            break
    return best


def scatter(n, most):
    """Prints MODE SIZE SECONDS for n additions to buffers of 1, 10, ... `most` elements."""
    modes = [dr.ReduceMode.Auto, dr.ReduceMode.Direct, dr.ReduceMode.Local, dr.ReduceMode.Expand]
    size, at = 1, 0
    while size <= most:
        rng = PCG32(size=n)
        i = rng.next_uint32_bounded(size) if size > 1 else dr.zeros(UInt32, n)
        i = dr.minimum(i, size - 1)
        dr.make_opaque(i)
        v = rng.next_uint32()
        dr.eval(i, v)
        for m, mode in enumerate(modes):
            target = dr.zeros(UInt32, size)
            dr.make_opaque(target)

            def add():
                dr.scatter_reduce(dr.ReduceOp.Add, target, v, i, mode=mode)
                dr.eval(target)
            print(m, at, least(add), flush=True)
        size *= 10
        at += 1


def log2(x):
    return x.bit_length() - 1


def packet(elements):
    """Prints WORK OFF SIZE NANOSECONDS, per element, for records of 1 to 24 elements; OFF is 1 without packets."""
    for at, n in enumerate([1, 2, 3, 4, 6, 8, 16, 24]):
        bits = log2(max(elements // n, 2))
        small = min(log2(65536 // n), bits)
        p = 1 << bits
        x = dr.arange(UInt32, p)
        for _ in range(2):
            x = (x * 2654435761) & (p - 1)
            x = x ^ (x >> ((bits + 1) // 2))
        few_x = x & ((1 << small) - 1)
        dr.eval(x, few_x)
        table = Float(dr.arange(UInt32, p * n) % 13)
        dr.eval(table)
        v = ArrayXf([Float((dr.arange(UInt32, p) + k * p) % 11) for k in range(n)])
        dr.eval(v)
        to, few = dr.zeros(Float, p * n), dr.zeros(Float, n << small)
        dr.eval(to, few)

        def gather():
            dr.eval(dr.gather(ArrayXf, table, x, shape=(n, p)))

        def total():
            r = dr.gather(ArrayXf, table, x, shape=(n, p))
            s = r[0]
            for k in range(1, n):
                s = s + r[k]
            dr.eval(s)

        def put():
            dr.scatter(to, v, x)
            dr.eval(to)

        def add_small():
            dr.scatter_add(few, v, few_x)
            dr.eval(few)

        def add_large():
            dr.scatter_add(to, v, x)
            dr.eval(to)

        for off in range(2):
            dr.set_flag(dr.JitFlag.PacketOps, not off)
            for w, work in enumerate([gather, total, put, add_small, add_large]):
                print(w, off, at, 1e9 * least(work) / (p * n), flush=True)


if __name__ == "__main__":
    *numbers, threads = [int(x) for x in sys.argv[2:]]
    dr.set_thread_count(threads)
    print("version", dr.__version__, flush=True)
    {"scatter": scatter, "packet": packet}[sys.argv[1]](*numbers)
