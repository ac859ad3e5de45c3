#!/usr/bin/env python3
"""Prints the Markdown tables of docs/performance.md from a file written by weft-bench --json.

    bench/table.py bench/results/NAME.json
"""
import json
import sys


def figure(x):
    if x is None:
        return "-"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def fastest(row, who):
    all_of = [r for r in row["results"] if r["who"] == who and r["median"] is not None]
    return min(all_of, key=lambda r: r["median"], default=None)


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        data = json.load(f)
    machine = data["machine"]
    peers = [p for p in ("drjit", "numexpr", "numpy") if p in machine]
    print(f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads, caches {machine['cache_kib']} KiB; "
          f"{machine['isa']}, LLVM {machine['llvm']}, C compiler {machine['compiler']}; {machine['date']}.")
    print()
    columns = ["plain", "plain fast-math", "best"] + peers
    print("| row | unit | Weft | " + " | ".join(columns) + " | Weft / best C | Weft / best peer |")
    print("|---|---|---|" + "---|" * (len(columns) + 2))
    for row in data["rows"]:
        weft = fastest(row, "weft")
        cells = [fastest(row, c) for c in columns]

        def ratio(names):
            best = min((c for c in (fastest(row, n) for n in names) if c), key=lambda r: r["median"], default=None)
            if not best or best["weft_over_this"] is None:
                return "-"
            return f"{best['weft_over_this']:.2f} ({best['ratio_q1']:.2f} to {best['ratio_q3']:.2f})"
        print(f"| `{row['name']}` | {row['unit']} | {figure(weft and weft['median'])} | "
              + " | ".join(figure(c and c["median"]) for c in cells)
              + f" | {ratio(['plain', 'plain fast-math', 'best'])} | {ratio(peers)} |")


main()
