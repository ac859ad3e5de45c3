#!/usr/bin/env python3
"""Makes tables from the output of weft-bench-gpu and gpu_peer.py: table.py FILE.jsonl ...

Times are medians. "of copy" is the throughput as a share of the driver's own copy, read and written. Faster ways of Weft
that need an option follow its time.
"""
import json
import sys

PEERS = {"cupy": "CuPy", "jax": "JAX", "torch": "PyTorch", "drjit": "Dr.Jit"}


def time_of(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            break
    return f"{seconds * scale:.3g} {unit}" if seconds * scale < 100 else f"{seconds * scale:.0f} {unit}"


def named(line):
    if not line:
        return "-"
    return time_of(line["median"]) + (f" ({line['how']})" if line.get("how") else "")


def goal_of(line, share, ratio):
    """The goal in words, and True or False if it is met or not, None if it is unknown."""
    kind, limit = line["goal"], line["limit"]
    if kind == "copy":
        return f"{100 * limit:.0f} % of copy", None if share is None else share >= limit
    if kind == "hand":
        return f"{limit:g} x hand", None if ratio is None else ratio <= limit
    if kind == "seconds":
        return f"{time_of(limit)}", line["median"] <= limit
    return "", None


def load(paths):
    lines = []
    for path in paths:
        try:
            with open(path, encoding="ascii") as f:
                for text in f:
                    try:
                        lines.append(json.loads(text))
                    except ValueError:  # cut off
                        pass
        except OSError as error:
            print(f"({error})\n")
    return lines


def main():
    lines = load(sys.argv[1:])
    times = [line for line in lines if "median" in line]
    copy = max((line.get("copy", 0) for line in times), default=0)
    said = [line for line in lines if "hand" in line and "machine" in line]
    for line in said:
        print(f"- side of large arrays: {line['side']}; by hand: {line['hand'] or 'nothing'}; the driver's copy moves "
              f"{copy * 1e-9:.0f} GB/s, read and written")
    for line in lines:
        if "version" in line or "missing" in line:
            print(f"- {PEERS[line['who']]}: {line.get('version') or 'not here: ' + line['missing']}")

    def fastest(row, who):
        return min((x for x in times if x["row"] == row and x["who"] == who), key=lambda x: x["median"], default=None)
    peers = [who for who in PEERS if any(x["who"] == who for x in times)]
    met = []
    print("\n| row | what | Weft | of copy | by hand | Weft / hand |", *(f"{PEERS[p]} |" for p in peers), "goal | met |")
    print("|---|---|---|---|---|---|" + "---|" * (len(peers) + 2))
    for row in dict.fromkeys(x["row"] for x in times if x["who"] == "weft"):
        weft, hand = fastest(row, "weft"), fastest(row, "hand")
        share = weft["bytes"] / weft["median"] / copy if copy and weft["bytes"] else None
        ratio = weft["median"] / hand["median"] if hand else None
        goal, is_met = goal_of(weft, share, ratio)
        if goal:
            met.append(is_met)
        aside = fastest(row, "aside")
        asked = f"; {aside['how']}: {time_of(aside['median'])}" if aside and aside["median"] < 0.9 * weft["median"] else ""
        cells = [f"`{row}`", weft["what"], named(weft) + asked, f"{100 * share:.1f} %" if share is not None else "",
                 named(hand), f"{ratio:.2f}" if ratio else ""]
        cells += [time_of((fastest(row, p) or {}).get("median")) for p in peers]
        print("| " + " | ".join(cells + [goal, {True: "yes", False: "**no**", None: "?" if goal else ""}[is_met]]) + " |")
    print(f"\nGoals: {met.count(True)} met, {met.count(False)} missed, {met.count(None)} unknown.")
    wrong = [x for x in lines if "error" in x or "skipped" in x]
    if wrong:
        print("\n### Not measured\n")
    for x in wrong:
        how = f", {x['how']}" if x.get("how") else ""
        print(f"- `{x['row']}`, {x['who']}{how}: {x.get('error') or x['skipped']}")
    print("\n### All ways\n\n| row | who | median | least | turns |\n|---|---|---|---|---|")
    for x in times:
        how = f", {x['how']}" if x.get("how") else ""
        print(f"| `{x['row']}` | {x['who']}{how} | {time_of(x['median'])} | {time_of(x['least'])} | {x['turns']} |")


main()
