"""Random programs of integers: Weft traces them, and Python, which runs them for every point, is the oracle."""
import linecache
import os
import random

import pytest

import weft

numpy = pytest.importorskip("numpy")

NAMES = ["p", "q", "r", "s"]
PROGRAMS = int(os.environ.get("WEFT_TEST_PROGRAMS", "60"))


class Program:
    """The text of a function of a point i, an array a and an array out."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.counters, self.turns = [], 0, 0
        helper = self.function("def helper(p, q):", ["r = p", "s = 1"], result=True)
        self.has_helper = True
        main = self.function("def f(i, a, out):", ["p = a[i]", "q = i", "r = 3", "s = a[i] % 5"], result=False)
        self.text = "\n".join(helper + main) + "\n"

    def function(self, head, first, result):
        self.has_helper, self.result, self.budget = False if result else True, result, 14
        body = first + self.block(0, False)
        if result:
            body.append(f"return {self.number()}")
        else:
            body.append("out[i] = p + 100 * q + 10000 * r + 1000000 * s")
        return [head] + ["    " + line for line in body] + [""]

    def pick(self, *choices):
        return self.random.choice(choices)

    def name(self):
        return self.random.choice(NAMES)

    def number(self, depth=0):
        if depth > 2 or self.random.random() < 0.3:
            return self.pick(self.name(), self.name(), str(self.random.randint(-9, 9)))
        a, b = self.number(depth + 1), self.number(depth + 1)
        kind = self.random.random()
        if kind < 0.6:
            return f"({a} {self.pick('+', '-', '*')} {b})"
        if kind < 0.7:
            return f"({a}) {self.pick('//', '%')} {self.random.randint(2, 9)}"
        if kind < 0.8:
            return f"({a} if {self.condition(2)} else {b})"
        if kind < 0.9:
            return f"{self.pick('min', 'max')}({a}, {b})"
        return f"helper({a}, {b})" if self.has_helper and depth < 2 else f"abs({a})"

    def condition(self, depth=0):
        kind = self.random.random()
        if depth > 1 or kind < 0.5:
            return f"{self.number(2)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.number(2)}"
        if kind < 0.6:
            return f"{self.number(2)} < {self.number(2)} <= {self.number(2)}"
        if kind < 0.7:
            return f"not ({self.condition(depth + 1)})"
        if kind < 0.75:
            return self.pick("True", "False", "3 > 2")
        return f"({self.condition(depth + 1)} {self.pick('and', 'or')} {self.condition(depth + 1)})"

    def assignment(self):
        kind = self.random.random()
        if kind < 0.6:
            return [f"{self.name()} = ({self.number()}) % 97"]
        if kind < 0.75:
            x = self.name()
            return [f"{x} {self.pick('+=', '-=', '*=')} {self.number(1)}", f"{x} %= 89"]
        if kind < 0.9:
            x, y = self.random.sample(NAMES, 2)
            return [f"{x}, {y} = {y}, ({self.number()}) % 97"]
        return [f"{self.name()} = {self.random.randint(-5, 5)}"]

    def block(self, depth, in_loop):
        made = []
        for _ in range(self.random.randint(1, 3)):
            made += self.statement(depth, in_loop)
        return made

    def indented(self, depth, in_loop):
        return ["    " + line for line in self.block(depth, in_loop)]

    def statement(self, depth, in_loop):
        self.budget -= 1
        kind = self.random.random()
        if depth > 2 or self.budget < 0 or kind < 0.35:
            return self.assignment()
        if kind < 0.6:
            made = [f"if {self.condition()}:"] + self.indented(depth + 1, in_loop)
            if self.random.random() < 0.3:
                made += [f"elif {self.condition()}:"] + self.indented(depth + 1, in_loop)
            if self.random.random() < 0.5:
                made += ["else:"] + self.indented(depth + 1, in_loop)
            return made
        if kind < 0.72:
            self.counters += 1
            c = f"n{self.counters}"
            made = [
                f"{c} = 0",
                f"while {c} < {self.pick('6', 'p % 7', '20')} and ({self.condition()}):",
                f"    {c} += 1",
            ]
            return self.with_else(made + self.indented(depth + 1, True), depth, in_loop)
        if kind < 0.86:
            self.counters += 1
            bounds = self.pick("3", "s % 5", "2, 5", "q % 4, 6", "5, p % 5, -2", "20")
            made = [f"for k{self.counters} in range({bounds}):", f"    {self.name()} += k{self.counters}"]
            return self.with_else(made + self.indented(depth + 1, True), depth, in_loop)
        if in_loop and kind < 0.95:
            return [f"if {self.condition()}:"] + ["    " + line for line in self.assignment()] + [
                "    " + self.pick("break", "continue")]
        return [f"if {self.condition()}:"] + ["    " + line for line in self.assignment()] + (
            [f"    return {self.number()}"] if self.result else ["    out[i] = p * 7 + q", "    return"])

    def with_else(self, made, depth, in_loop):
        return made + ["else:"] + self.indented(depth + 1, in_loop) if self.random.random() < 0.2 else made


HARD = [1057, 1077, 1378, 1563, 1874]  # names that are dead at some places, results that are the number 0, many blocks


def functions(program, name):
    filename = f"<program {name}>"
    linecache.cache[filename] = (len(program.text), None, program.text.splitlines(True), filename)
    scope = {}
    exec(compile(program.text, filename, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("group", range(6))
def test_random_programs(group):
    for seed in [*range(group, PROGRAMS, 6), *HARD[group::6]]:
        program = Program(seed)
        f = functions(program, seed)
        a = numpy.random.RandomState(seed).randint(-30, 30, 24)
        got, want = numpy.zeros(24, "i8"), numpy.zeros(24, "i8")
        values = a.tolist()
        for i in range(24):
            f(i, values, want)
        weft.kernel(f)(a, got)
        assert (got == want).all(), (seed, program.text, got, want)


@pytest.mark.parametrize("device", ["interp", "cuda-emu"])
def test_other_devices_have_the_same_results(device):
    def there(array):
        try:
            return array if device == "interp" else weft.asarray(array).to_device(device)
        except weft.DeviceError as e:
            pytest.skip(str(e))

    for seed in range(5):
        f = functions(Program(seed), seed)
        a, want = numpy.random.RandomState(seed).randint(-30, 30, 24), numpy.zeros(24, "i8")
        weft.kernel(f)(a, want)
        got = there(numpy.zeros(24, "i8"))
        weft.kernel(f, device=device)(there(a), got)
        assert got.tolist() == want.tolist()
