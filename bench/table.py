#!/usr/bin/env python3
"""Prints the Markdown tables of docs/performance.md from a file written by weft-bench --json.

    bench/table.py bench/results/NAME.json
    bench/table.py bench/results/NAME.json NAME-2.json ...       rows of functions: the least times of all the files
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


def least(files, name, who):
    times = [r["min"] for data in files for row in data["rows"] if row["name"] == name
             for r in row["results"] if r["who"] == who and r["min"] is not None]
    return min(times, default=None)


def functions(files):
    names = dict.fromkeys(r["name"][3:-4] for r in files[0]["rows"] if r["name"].startswith("fn_"))
    if names:
        print("\n| function | f32 | SLEEF | ratio | f64 | SLEEF | ratio |\n|---|---|---|---|---|---|---|")
    for name in names:
        cells = []
        for dtype in ("f32", "f64"):
            weft, peer = (least(files, f"fn_{name}_{dtype}", who) for who in ("weft", "sleef"))
            cells += [figure(weft), figure(peer), f"{weft / peer:.2f}" if weft and peer else "-"]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    files = []
    for path in sys.argv[1:]:
        with open(path, encoding="ascii") as f:
            files.append(json.load(f))
    data = files[0]
    machine = data["machine"]
    peers = [p for p in ("drjit", "numexpr", "numpy") if p in machine]
    print(f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads, caches {machine['cache_kib']} KiB; "
          f"{machine['isa']}, LLVM {machine['llvm']}, C compiler {machine['compiler']}; {machine['date']}.")
    print()
    rows = [row for row in data["rows"] if not row["name"].startswith("fn_")]
    if not rows:
        functions(files)
        return
    columns = ["plain", "plain fast-math", "best"] + peers
    print("| row | unit | Weft | " + " | ".join(columns) + " | Weft / best C | Weft / best peer |")
    print("|---|---|---|" + "---|" * (len(columns) + 2))
    for row in rows:
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
    functions(files)


main()
