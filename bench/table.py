#!/usr/bin/env python3
"""Makes Markdown tables of files that weft-bench --json has written.

    bench/table.py FILE.json             prints the tables of one run
    bench/table.py --pages FOLDER        writes a page for each file of bench/results, and an index (tools/pages)
"""
import json
import os
import sys

PEERS = ("drjit", "jax", "numexpr", "numpy")
C = ["plain", "plain fast-math", "best"]


def figure(x):
    if x is None:
        return "-"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def fastest(row, who):
    all_of = [r for r in row["results"] if r["who"] == who and r["median"] is not None]
    return min(all_of, key=lambda r: r["median"], default=None)


def least(data, name, who):
    times = [r["min"] for row in data["rows"] if row["name"] == name
             for r in row["results"] if r["who"] == who and r["min"] is not None]
    return min(times, default=None)


def ratio(row, names):
    """The ratio of the fastest of Weft's variants to the fastest of these contenders, with quartiles. In the file, ratios
    are those of one variant of Weft, whose own ratio is 1."""
    best = min((c for c in (fastest(row, n) for n in names) if c), key=lambda r: r["median"], default=None)
    if not best or best["weft_over_this"] is None:
        return "-"
    scale = 1 / fastest(row, "weft")["weft_over_this"]
    return f"{scale * best['weft_over_this']:.2f} ({scale * best['ratio_q1']:.2f} to {scale * best['ratio_q3']:.2f})"


def workloads(data):
    rows = [row for row in data["rows"] if not row["name"].startswith(("fn_", "grad_"))]
    peers = [p for p in PEERS if p in data["machine"]]
    lines = ["| row | unit | Weft | " + " | ".join(C + peers) + " | Weft / best C | Weft / best peer |",
             "|---|---|---|" + "---|" * (len(C + peers) + 2)]
    for row in rows:
        cells = [fastest(row, c) for c in ["weft"] + C + peers]
        lines.append(f"| `{row['name']}` | {row['unit']} | "
                     + " | ".join(figure(c and c["median"]) for c in cells)
                     + f" | {ratio(row, C)} | {ratio(row, peers)} |")
    return lines if rows else []


def derivatives(data):
    rows = [row for row in data["rows"] if row["name"].startswith("grad_")]
    peers = [p for p in ("drjit", "jax") if p in data["machine"]]
    lines = ["| row | unit | Weft, primal | Weft | best C | " + "".join(f"{p} | " for p in peers)
             + "Weft / its primal | Weft / best C |", "|---|---|---|---|---|" + "---|" * (len(peers) + 2)]
    for row in rows:
        cells = [fastest(row, c) for c in ["weft primal", "weft", "best"] + peers]
        lines.append(f"| `{row['name']}` | {row['unit']} | " + " | ".join(figure(c and c["median"]) for c in cells)
                     + f" | {ratio(row, ['weft primal'])} | {ratio(row, ['best'])} |")
    return lines if rows else []


def functions(data):
    names = dict.fromkeys(r["name"][3:-4] for r in data["rows"] if r["name"].startswith("fn_"))
    lines = ["| function | f32 | SLEEF | ratio | f64 | SLEEF | ratio |", "|---|---|---|---|---|---|---|"]
    for name in names:
        cells = []
        for dtype in ("f32", "f64"):
            weft, peer = (least(data, f"fn_{name}_{dtype}", who) for who in ("weft", "sleef"))
            cells += [figure(weft), figure(peer), f"{weft / peer:.2f}" if weft and peer else "-"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines if names else []


def machine(data):
    m = data["machine"]
    peers = "".join(f"; {p} {m[p]}" for p in PEERS if p in m)
    return (f"{m['cpu']}, {m['cores']} cores, {m['threads']} threads, caches {m['cache_kib']} KiB; {m['isa']}, "
            f"LLVM {m['llvm']}, C compiler {m['compiler']}{peers}; {m['date']}.")


def page(name, data):
    lines = [f"# {name}", "", machine(data), "",
             f"`tools/pages` makes this page from [{name}.json](../../bench/results/{name}.json), which also has the "
             "least times and the variants.", "[performance.md](../performance.md) says how rows are measured and what "
             "follows from them."]
    tables = workloads(data)
    if tables:
        lines += ["", "## Workloads", "",
                  "Medians; the last two columns are medians of the ratio within a turn, with quartiles; below 1 Weft is "
                  "faster. \"Best C\" is the", "fastest of the three columns of C, \"best peer\" that of the other "
                  "systems.", ""] + tables
    tables = derivatives(data)
    if tables:
        lines += ["", "## Derivatives", "", "Medians, and medians of the ratio within a turn, with quartiles. \"Primal\" is "
                  "the computation alone that is", "differentiated; the derivatives include it, but for those of the "
                  "convolution.", ""] + tables
    tables = functions(data)
    if tables:
        lines += ["", "## Single functions", "", "Nanoseconds for each value, the least of many turns, one thread, 8192 "
                  "values in cache.", ""] + tables
    return lines


def write(path, lines):
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


def read(path):
    with open(path, encoding="ascii") as f:
        return json.load(f)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--pages":
        results = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
        index = ["# Measurements", "", "One page for each file of [bench/results](../../bench/results); `tools/pages` makes "
                 "them, and the tests compare.", "[performance.md](../performance.md) explains the rows.", "",
                 "| page | machine | rows |", "|---|---|---|"]
        for file in sorted(os.listdir(results), reverse=True):
            if not file.endswith(".json"):
                continue
            name, data = file[:-5], read(os.path.join(results, file))
            write(os.path.join(sys.argv[2], name + ".md"), page(name, data))
            index.append(f"| [{name}]({name}.md) | {machine(data)} | {len(data['rows'])} |")
        write(os.path.join(sys.argv[2], "index.md"), index)
    elif len(sys.argv) == 2:
        data = read(sys.argv[1])
        print("\n".join([machine(data), ""] + workloads(data) + [""] + derivatives(data) + [""]
                        + functions(data)))
    else:
        sys.exit(__doc__)


main()
