"""Rewriting of Python functions for tracing: the AST part.

A function is rewritten into one of the same name, line numbers and variables, in which

    if c: A else: B         becomes     b = weft.branch(c, ...)      a Branch of _trace.py
                                        if b.then: A'; b.done(locals())
                                        if b.otherwise: B'; b.done(locals())
                                        if b.end(): x = b.after("x") for each name that the branches assign
    while c: A              becomes     b = weft.while_loop(c, ...)
                                        for _ in b:
                                            x = b.get("x"), if the loop is recorded
                                            if b.test(c): break
                                            A'; b.turn(locals())
                                        if b.end(): x = b.after("x")
    for i in r: A           likewise, with weft.for_loop(r, ...)
    break, continue         become      if b.leave(locals()): break,  if b.skip(locals()): continue
    a and b, not a, a < b < c, a if c else b, f(x), a[i], a[i] += v      calls of the functions in _runtime.Runtime

The objects decide at run time whether Python or the recording branches, so that one text serves both. Before that,
`else` of loops and `return` inside of blocks become assignments to flags, and a liveness analysis finds the names that
must have a value after a block or at the next turn of a loop.
"""
import ast
import linecache
import types

RUNTIME = "_weft_runtime"
_DONE, _RESULT = "_weft_returned", "_weft_result"
_OF_FRAMES = {"locals", "globals", "super", "vars", "dir", "eval", "exec", "breakpoint"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.While, ast.For)


class SourceError(TypeError):
    """The function has no source text, or a statement in it cannot be recorded."""


# ---- sources -------------------------------------------------------------------------------------------------------

_files = {}


def _parsed(filename, module_globals):
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        raise SourceError(f"there is no source text of {filename}")
    text = "".join(lines)
    if _files.get(filename, (None,))[0] != text:
        _files[filename] = (text, ast.parse(text, filename))
    return _files[filename][1]


def _inside(position, node):
    line, _, column, _ = position
    if line is None or column is None:
        return True
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)


def node_of(function):
    """The FunctionDef or Lambda of a function, of a tree that others share."""
    code = function.__code__
    try:
        tree = _parsed(code.co_filename, function.__globals__)
    except SyntaxError:
        raise SourceError(f"the source text of {code.co_filename} is no Python") from None
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            found.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno] + [d.lineno for d in node.decorator_list])
            if first == code.co_firstlineno:
                found.append(node)
    if len(found) > 1:  # several lambdas of a line
        found = _likely(found, code)
    if not found:
        raise SourceError(f"the source text of {code.co_name} was not found in {code.co_filename}")
    return found[0]


def _likely(found, code):
    """Of several lambdas those with most of the code's positions, the inner one of two, if names and constants agree."""
    places = [p for p in code.co_positions() if p[3]]
    size = {n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset) for n in found}
    score = {n: (-sum(_inside(p, n.body) for p in places), size[n] if places else 0) for n in found}
    found = [n for n in found if score[n] == min(score.values())]
    if len(found) > 1:
        found = [n for n in found if _parts(compile(ast.Expression(n), "", "eval").co_consts[0]) == _parts(code)]
        if len({ast.dump(n) for n in found}) > 1:
            raise SourceError("there are several lambdas in its line, which cannot be told apart")
    return found


def _parts(code):
    """Names and constants of a code object."""
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    return names, [repr(c) for c in code.co_consts if not hasattr(c, "co_code")]


def elements(function):
    """Two lists, of elements that are assigned and that are read, as a[i, j]: arrays and the names of their indices, in
    the order of the text; None for an index that is no name. Empty without a source text."""
    try:
        node = node_of(function)
    except SourceError:
        return [], []
    found = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    made = [], []
    for n in found:
        key = n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]
        names = [k.id if isinstance(k, ast.Name) else None for k in key]
        made[isinstance(n.ctx, ast.Load)].append((n.value.id, names))
    return made


def _copy(node):
    """A deep copy of a tree, with positions."""
    if isinstance(node, list):
        return [_copy(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copy(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node) if hasattr(node, "lineno") else made


# ---- names ---------------------------------------------------------------------------------------------------------


def _walk(node):
    """Nodes of a tree but those inside of other functions and classes."""
    stack = list(node) if isinstance(node, list) else [node]
    while stack:
        at = stack.pop()
        yield at
        if isinstance(at, (*_FUNCTIONS, ast.ClassDef)):
            continue
        stack.extend(ast.iter_child_nodes(at))


def loads(node):
    """Names that are read anywhere in a tree, functions inside it included."""
    nodes = node if isinstance(node, list) else [node]
    return {n.id for part in nodes for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def stores(node, lists=True):
    """Names that are assigned in a tree, and those of lists whose elements are."""
    found = set()
    for n in _walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)):
            found.add(n.id)
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, ast.alias):
            found.add((n.asname or n.name).split(".")[0])
        elif isinstance(n, ast.ExceptHandler) and n.name:
            found.add(n.name)
        elif lists and isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store):
            root = n
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            if isinstance(root, ast.Name):
                found.add(root.id)
    return found


class _Liveness:
    """Which names are read later. `after`, `other`, `before` and `head` hold, by node, the names that are live after
    a block, at the `else` of an `if`, at either branch of it, and at the head of a loop."""

    def __init__(self, body, captured):
        self.after, self.other, self.before, self.head = {}, {}, {}, {}
        self.captured = captured
        self.block(body, frozenset(captured), frozenset(), frozenset())

    def block(self, body, after, leave, skip):
        for statement in reversed(body):
            after = self.one(statement, after, leave, skip)
        return after

    def one(self, s, after, leave, skip):
        if isinstance(s, (ast.Assign, ast.AnnAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            killed = {
                n.id for t in targets for n in _walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            return (after - killed) | self.captured | loads(s)
        if isinstance(s, ast.AugAssign):
            return after | loads(s) | ({s.target.id} if isinstance(s.target, ast.Name) else set())
        if isinstance(s, ast.If):
            self.after[s] = after
            self.other[s] = self.block(s.orelse, after, leave, skip)
            self.before[s] = self.block(s.body, after, leave, skip) | self.other[s]
            return loads(s.test) | self.before[s]
        if isinstance(s, _LOOPS):
            head = after | (loads(s.test) if isinstance(s, ast.While) else set())
            targets = stores(s.target) if isinstance(s, ast.For) else set()
            while True:
                more = head | (self.block(s.body, head, after, head) - targets)
                if more == head:
                    break
                head = more
            self.after[s], self.head[s] = after, head
            return head | (loads(s.iter) if isinstance(s, ast.For) else set())
        if isinstance(s, ast.Break):
            return leave
        if isinstance(s, ast.Continue):
            return skip
        if isinstance(s, (ast.Return, ast.Raise)):
            return self.captured | loads(s)
        if isinstance(s, ast.With):
            return loads(s.items) | self.block(s.body, after, leave, skip)
        if isinstance(s, ast.Try):
            live = after | leave | skip | loads(s)
            for part in (s.body, s.orelse, s.finalbody, *(h.body for h in s.handlers)):
                live = live | self.block(part, live, live, live)
            return live
        return after | loads(s)


# ---- else of loops, and return, become flags ------------------------------------------------------------------------


def _statements(text, where):
    made = ast.parse(text).body
    for statement in made:
        for n in ast.walk(statement):
            if hasattr(n, "lineno"):
                ast.copy_location(n, where)
    return made


def _expression(text, where):
    return _statements(text, where)[0].value


def _own(body, kind):
    """Statements of a kind that belong to a loop with this body, not to one inside of it."""
    for s in body:
        if isinstance(s, kind):
            yield s
        elif isinstance(s, _LOOPS):
            yield from _own(s.orelse, kind)
        elif not isinstance(s, _FUNCTIONS):
            for name in ("body", "orelse", "finalbody"):
                yield from _own(getattr(s, name, []), kind)
            for handler in getattr(s, "handlers", []):
                yield from _own(handler.body, kind)


def _returns(s):
    return any(isinstance(n, ast.Return) for n in _walk(s))


def ends(body):
    """True if the end of a block is never reached, as far as the text says."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return True
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, ast.With):
        return ends(last.body)
    return (isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value) and
            not any(True for _ in _own(last.body, ast.Break)))


def _returns_always(body):
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.If) and _returns_always(last.body) and _returns_always(last.orelse)


class _Flags:
    def __init__(self):
        self.count = 0

    def loop_else(self, body):
        """`else` of a loop becomes an `if` behind it."""
        made = []
        for s in body:
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(s, name, None), list) and not isinstance(s, _FUNCTIONS):
                    setattr(s, name, self.loop_else(getattr(s, name)))
            for handler in getattr(s, "handlers", []):
                handler.body = self.loop_else(handler.body)
            if isinstance(s, ast.While):
                self.assigning_test(s)
            if not isinstance(s, _LOOPS) or not s.orelse:
                made.append(s)
                continue
            otherwise, s.orelse = s.orelse, []
            if not any(not hasattr(b, "is_test") for b in _own(s.body, ast.Break)):
                made += [s, *otherwise]
                continue
            self.count += 1
            flag = f"_weft_left_{self.count}"
            s.body = self.before_breaks(s.body, flag)
            test = _statements(f"if not {flag}: pass", s)[0]
            test.body = otherwise
            made += [*_statements(f"{flag} = False", s), s, test]
        return made

    @staticmethod
    def assigning_test(s):
        """`while (n := f()) > 0:` becomes `while True:` with a test in its body, as a test may be evaluated twice."""
        if any(isinstance(n, ast.NamedExpr) for n in _walk(s.test)):
            leave = _statements("if not 0: break", s)[0]
            leave.test.operand, s.test = s.test, ast.copy_location(ast.Constant(True), s)
            leave.body[0].is_test = True
            s.body.insert(0, leave)

    def before_breaks(self, body, flag):
        made = []
        for s in body:
            if isinstance(s, ast.Break) and not hasattr(s, "is_test"):
                made += _statements(f"{flag} = True", s)
            elif not isinstance(s, (*_LOOPS, *_FUNCTIONS)):
                for name in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(s, name, None), list):
                        setattr(s, name, self.before_breaks(getattr(s, name), flag))
            made.append(s)
        return made

    def returns(self, body, in_loop, value):
        """`return` inside of a block becomes assignments to a flag and to the result."""
        made = []
        for i, s in enumerate(body):
            rest = body[i + 1:]
            if isinstance(s, ast.Return):
                if value:
                    result = _statements(f"{_RESULT} = None", s)[0]
                    if s.value is not None:
                        result.value = s.value
                    made.append(result)
                made += _statements(f"{_DONE} = True", s)
                if in_loop:
                    made += _statements("break", s)
                return made
            made.append(s)
            if not _returns(s) or isinstance(s, (*_FUNCTIONS, ast.ClassDef)):
                continue
            if isinstance(s, ast.If):
                always = _returns_always(s.body), _returns_always(s.orelse)
                other = any(map(_returns, s.orelse)), any(map(_returns, s.body))
                s.body = self.returns(s.body, in_loop, value)
                s.orelse = self.returns(s.orelse, in_loop, value)
                if all(always):
                    return made
                if in_loop:  # a return was a break, which skips the rest
                    continue
                if always[0] and not other[0]:
                    s.orelse += self.returns(rest, in_loop, value)
                    return made
                if always[1] and not other[1]:
                    s.body += self.returns(rest, in_loop, value)
                    return made
            elif isinstance(s, _LOOPS):
                s.body = self.returns(s.body, True, value)
                if in_loop:
                    made += _statements(f"if {_DONE}: break", s)
                    continue
            else:
                for name in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(s, name, None), list):
                        setattr(s, name, self.returns(getattr(s, name), in_loop, value))
                for handler in getattr(s, "handlers", []):
                    handler.body = self.returns(handler.body, in_loop, value)
                if in_loop:
                    continue
            if rest:
                test = _statements(f"if not {_DONE}: pass", s)[0]
                test.body = self.returns(rest, in_loop, value)
                made.append(test)
            return made
        return made

    def function(self, body, where):
        body = self.loop_else(body)
        inner = [s for s in body if _returns(s) and not isinstance(s, (ast.Return, *_FUNCTIONS, ast.ClassDef))]
        if not inner:
            return body
        value = any(isinstance(n, ast.Return) and n.value is not None for n in _walk(body))
        always = _returns_always(body)
        made = _statements(f"{_DONE} = False", where)
        if value and not always:
            made += _statements(f"{_RESULT} = None", where)
        made += self.returns(body, False, value)
        if value:
            made += _statements(f"return {_RESULT}", where)
        return made


# ---- the rewriting -------------------------------------------------------------------------------------------------

_IN_PLACE = {"Add": "iadd", "Sub": "isub", "Mult": "imul", "Div": "itruediv", "FloorDiv": "ifloordiv", "Mod": "imod",
             "Pow": "ipow", "LShift": "ilshift", "RShift": "irshift", "BitOr": "ior", "BitXor": "ixor",
             "BitAnd": "iand", "MatMult": "imatmul"}


class _Function(ast.NodeTransformer):
    """Rewrites the body of one function; functions inside of it are rewritten by others of this class."""

    def __init__(self, counter):
        self.count = counter
        self.loops = []  # names of the objects of the loops around a statement

    def new(self, what):
        self.count[0] += 1
        return f"_weft_{what}_{self.count[0]}"

    def body(self, node):
        body = _Flags().function(node.body, node)
        outer = {n for s in _walk(body) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
        captured = {name for n in ast.walk(ast.Module(body, [])) if isinstance(n, _FUNCTIONS)
                    for name in loads(n.body if isinstance(n.body, list) else [n.body])}
        arguments = node.args
        own = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg,
                               arguments.kwarg) if a is not None}
        self.own = (own | stores(body, lists=False)) - outer  # names that are the function's
        self.live = _Liveness(body, frozenset(captured))
        return self.statements(body)

    def statements(self, body):
        made = []
        for s in body:
            new = self.visit(s)
            made += new if isinstance(new, list) else [new]
        return made or [ast.Pass()]

    def names(self, s, live):
        found = stores(s.body) | stores(s.orelse)
        if isinstance(s, ast.For):
            found |= stores(s.target)
        return sorted(found & self.own & live)

    @staticmethod
    def bind(block, how, names, where):
        return [n for name in names for n in _statements(
            f"{name} = {block}.{how}({name!r})\nif {name} is {RUNTIME}.UNBOUND: del {name}", where)]

    # -- statements

    def visit_FunctionDef(self, node):
        node.body = _Function(self.count).body(node)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        return node

    def visit_ClassDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_ClassDef

    def visit_Lambda(self, node):
        node.body = _Function(self.count).expression(node.body)
        return node

    def expression(self, node):
        self.own, self.live = set(), None
        return self.visit(node)

    def visit_If(self, s):
        after = self.live.after[s]
        names = self.names(s, after)
        block = self.new("if")
        begin = _statements(f"{block} = {RUNTIME}.branch(0, {tuple(names)!r}, {RUNTIME}.locals(), {s.lineno})", s)
        begin[0].value.args[0] = self.visit(s.test)
        end = f"{block}.done({RUNTIME}.locals())"
        then = _statements(f"if {block}.then: pass", s)[0]
        falls = not ends(s.body), not ends(s.orelse)
        changed = stores(s.body) & self.own
        other = self.live.other[s]
        then.body = self.statements(s.body) + (_statements(end, s) if falls[0] else [])
        made = begin + [then]
        if s.orelse:
            otherwise = _statements(f"if {block}.otherwise: pass", s)[0]
            restore = sorted(changed & (other | set(names)))
            again = _statements(f"if {block}.traced: pass", s)
            again[0].body = self.bind(block, "before", restore, s)
            otherwise.body = ((again if restore else []) + self.statements(s.orelse) +
                              (_statements(end, s) if falls[1] else []))
            made.append(otherwise)
            begin[0].value.args.append(_expression(repr(tuple(restore)), s))
            begin[0].value.args.append(_expression(repr(tuple(n for n in names if n not in self.live.before[s])), s))
        last = _statements(f"if {block}.end(): pass", s)
        if names:
            last[0].body = self.bind(block, "after", names, s)
        return made + last

    def loop(self, s, block, begin, head):
        names = self.names(s, self.live.head[s] | self.live.after[s])
        begin[0].value.args[1] = _expression(repr(tuple(names)), s)
        begin[0].value.args.append(_expression(repr(tuple(n for n in names if n in self.live.after[s])), s))
        if names:
            take = _statements(f"if {block}.traced: pass", s)[0]
            new = stores(s.target) if isinstance(s, ast.For) else ()
            take.body = self.bind(block, "get", [n for n in names if n in self.live.head[s] and n not in new], s)
            if take.body:
                head.body.insert(0, take)
        self.loops.append(block)
        head.body += self.statements(s.body)
        self.loops.pop()
        if not ends(s.body):
            head.body += _statements(f"{block}.turn({RUNTIME}.locals())", s)
        last = _statements(f"if {block}.end(): pass", s)
        if names:
            last[0].body = self.bind(block, "after", names, s)
        return begin + [head] + last

    def visit_While(self, s):
        block = self.new("while")
        begin = _statements(f"{block} = {RUNTIME}.while_loop(0, (), {RUNTIME}.locals(), {s.lineno})", s)
        again = self.visit(_copy(s.test))
        begin[0].value.args[0] = self.visit(s.test)
        head = _statements(f"for _weft_turn in {block}:\n    if {block}.testing and {block}.test(0): break", s)[0]
        head.body[0].test.values[1].args[0] = again
        return self.loop(s, block, begin, head)

    def visit_For(self, s):
        block = self.new("for")
        begin = _statements(f"{block} = {RUNTIME}.for_loop(0, (), {RUNTIME}.locals(), {s.lineno})", s)
        begin[0].value.args[0] = self.visit(s.iter)
        head = _statements(f"for _ in {block}: pass", s)[0]
        head.target, head.body = s.target, []
        return self.loop(s, block, begin, head)

    def visit_Break(self, s):
        return _statements(f"if {self.loops[-1]}.leave({RUNTIME}.locals()): break", s)

    def visit_Continue(self, s):
        return _statements(f"if {self.loops[-1]}.skip({RUNTIME}.locals()): continue", s)

    def visit_Assign(self, s):
        target = s.targets[0]
        if (len(s.targets) > 1 or not isinstance(target, ast.Subscript) or
                any(isinstance(n, ast.Slice) for n in ast.walk(target.slice))):
            return self.generic_visit(s)
        call = _expression(f"{RUNTIME}.store(0, 0, 0)", s)
        call.args = [self.visit(s.value), self.visit(target.value), self.visit(target.slice)]
        return ast.copy_location(ast.Expr(call), s)

    def visit_AugAssign(self, s):
        if not isinstance(s.target, ast.Subscript) or any(isinstance(n, ast.Slice) for n in ast.walk(s.target.slice)):
            s.value = self.visit(s.value)
            if isinstance(s.target, ast.Subscript):
                s.target = self.generic_visit(s.target)
            return s
        call = _expression(f"{RUNTIME}.augment(0, 0, {_IN_PLACE[type(s.op).__name__]!r}, 0)", s)
        call.args[0] = self.visit(s.target.value)
        call.args[1] = self.visit(s.target.slice)
        call.args[3] = self.visit(s.value)
        return ast.copy_location(ast.Expr(call), s)

    # -- expressions

    def visit_Subscript(self, node):
        if not isinstance(node.ctx, ast.Load) or any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)):
            return self.generic_visit(node)
        call = _expression(f"{RUNTIME}.item(0, 0)", node)
        call.args = [self.visit(node.value), self.visit(node.slice)]
        return call

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in _OF_FRAMES:
            return self.generic_visit(node)
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == RUNTIME
        ):
            return node
        call = _expression(f"{RUNTIME}.call(0)", node)
        call.args = [self.visit(node.func)] + [self.visit(a) for a in node.args]
        call.keywords = [self.visit(k) for k in node.keywords]
        return call

    @staticmethod
    def later(node, where):
        """A lambda of an expression, which is evaluated when it is called."""
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
            raise SourceError(f"line {where.lineno}: := in a part of an expression that may be left out")
        made = _expression("lambda: 0", where)
        made.body = node
        return made

    @staticmethod
    def guarded(node):
        """True if an expression may be wrong to evaluate where the condition before it does not hold."""
        return any(isinstance(n, (ast.Subscript, ast.Call)) for n in ast.walk(node))

    def visit_BoolOp(self, node):
        how = "all_of" if isinstance(node.op, ast.And) else "any_of"
        made = self.visit(node.values[0])
        for value in node.values[1:]:
            guarded = self.guarded(value)
            call = _expression(f"{RUNTIME}.{how}(0, 0, {guarded}, {node.lineno})", node)
            call.args[:2] = [made, self.later(self.visit(value), node)]
            made = call
        return made

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        call = _expression(f"{RUNTIME}.opposite(0)", node)
        call.args = [node.operand]
        return call

    def visit_Compare(self, node):
        if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self.generic_visit(node)
        guarded = any(map(self.guarded, node.comparators[1:]))
        call = _expression(
            f"{RUNTIME}.compared(0, {tuple(type(op).__name__ for op in node.ops)!r}, (), {guarded})", node
        )
        call.args[0] = self.visit(node.left)
        call.args[2].elts = [self.later(self.visit(c), node) for c in node.comparators]
        return call

    def visit_IfExp(self, node):
        guarded = self.guarded(node.body) or self.guarded(node.orelse)
        call = _expression(f"{RUNTIME}.choose(0, 0, 0, {guarded}, {node.lineno})", node)
        call.args[:3] = [self.visit(node.test), self.later(self.visit(node.body), node),
                         self.later(self.visit(node.orelse), node)]
        return call


def _find_code(code, name):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            return constant
    return None


class Rewritten:
    """The code of a rewritten function, for any closure, and its text."""

    def __init__(self, function):
        node = _copy(node_of(function))
        code = function.__code__
        if isinstance(node, ast.Lambda):
            result = ast.copy_location(ast.Return(node.body), node.body)
            node = ast.copy_location(ast.FunctionDef("_lambda", node.args, [result], []), node)
            if "type_params" in ast.FunctionDef._fields:
                node.type_params = []
        node.decorator_list = []
        node.returns = None
        arguments = node.args
        arguments.defaults = [ast.copy_location(ast.Constant(None), node) for _ in arguments.defaults]
        arguments.kw_defaults = [d and ast.copy_location(ast.Constant(None), node) for d in arguments.kw_defaults]
        for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if a is not None:
                a.annotation = None
        node.body = _Function([0]).body(node)
        self.text = ast.unparse(ast.fix_missing_locations(node))
        outer = ast.parse("def _weft_outer(): pass").body[0]
        free = ast.parse(f"{RUNTIME} = 0" + "".join(f"\n{name} = 0" for name in code.co_freevars)).body
        outer.body = [*free, node]
        module = ast.fix_missing_locations(ast.Module([outer], []))
        futures = code.co_flags & 0x1FE0000  # from __future__ import ...
        made = compile(module, code.co_filename, "exec", flags=futures, dont_inherit=True)
        self.code = _find_code(_find_code(made, "_weft_outer"), node.name)

    def function(self, function, runtime):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        cells[RUNTIME] = types.CellType(runtime)
        made = types.FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__,
                                  tuple(cells[name] for name in self.code.co_freevars))
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__ = function.__qualname__
        return made
