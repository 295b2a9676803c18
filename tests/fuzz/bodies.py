"""Random functions: statements over a scope, with branches, loops, forms, stores and functions within functions."""

from __future__ import annotations

from tests.fuzz.choices import Choices
from tests.fuzz.formulas import Dim, Formulas, Scope, Shape, length, shown

STATEMENTS = {
    "assign": 26, "branch": 9, "loop": 9, "cond": 9, "scan": 8, "buffer": 7, "store": 12, "again": 8, "fori": 4,
    "while_loop": 4, "checkpoint": 4, "inner": 5, "container": 5, "unused": 2, "alias": 4, "until": 4, "local": 3,
}  # fmt: skip


class Counter:
    """Names that no other line has."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"


class Body(Formulas):
    """The statements of one function. `order` is how often something in it is differentiated."""

    def __init__(self, choices: Choices, scope: Scope, dims: tuple[Dim, ...], new: Counter, indent: int = 1) -> None:
        super().__init__(choices, scope, dims)
        self.new, self.indent, self.lines, self.deep = new, indent, list[str](), 0
        self.order, self.most_order, self.weight = 0, 1, 1

    def out(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def shape(self) -> Shape:
        """A shape that names have, or might."""
        known = list(self.scope.floats.values())
        kind = self.c.below(8)
        if kind < 5 and known:
            return self.c.pick(*known)
        if kind == 5:
            return ()
        return (self.c.pick(*self.dims),) if kind == 6 else (self.c.pick(*self.dims), self.c.pick(*self.dims))

    def statements(self, count: int) -> None:
        for _ in range(count):
            getattr(self, f"do_{self.c.weighted(STATEMENTS)}")()

    def within(self, scope: Scope, indent: int) -> Body:
        """The writer of a function or block within this one."""
        made = Body(self.c, scope, self.dims, self.new, indent)
        made.deep, made.order, made.most_order = self.deep + 1, self.order, self.most_order
        return made

    def assign(self, shape: Shape, value: str, stem: str = "v") -> str:
        name = self.new(stem)
        self.out(f"{name} = {value}")
        self.bind(name, shape)
        return name

    def bind(self, name: str, shape: Shape) -> None:
        self.scope.floats[name] = shape
        self.scope.own.append(name)

    # ---- simple statements

    def do_assign(self) -> None:
        shape = self.shape()
        self.assign(shape, self.of(shape, 2))

    def do_unused(self) -> None:
        self.out(f"unused = {self.of(self.shape(), 2)}")

    def do_again(self) -> None:
        """A name gets another value, made of the old one."""
        names = [n for n in self.scope.own if n not in self.scope.buffers]
        if names:
            name = self.c.pick(*names[::-1])
            shape = self.scope.floats[name]
            if not shape and self.c.chance(40):
                self.out(f"{name} {self.c.pick('+=', '-=', '*=')} {self.of((), 1)}")
            else:
                self.out(f"{name} = {self.c.pick('np.tanh', 'np.sin', '0.5 *')}({self.of(shape, 2)} + {name})")

    def do_buffer(self) -> None:
        """A new array that may be written to."""
        shape = self.shape()
        if shape:
            like = self.name(shape)
            name = self.assign(shape, self.c.pick(
                f"np.zeros({shown(shape)})", f"{like} * 1.0", f"{like}.copy()", f"np.ones({shown(shape)})",
                f"np.zeros_like({like})", f"np.full({shown(shape)}, {self.name(())})",
            ), "b")  # fmt: skip
            self.scope.buffers.append(name)

    def do_store(self) -> None:
        if not self.scope.buffers:
            return self.do_buffer()
        b = self.c.pick(*self.scope.buffers[::-1])
        shape = self.scope.floats[b]
        k, rest = shape[0], shape[1:]
        sign = self.c.pick("=", "+=", "*=", "=")
        ways = [
            f"{b}[{self.index(k)}] {sign} {self.of(rest, 2)}",
            f"{b}[1:] {sign} {self.name(shape)}[:-1] * {self.name(())}",
            f"{b}[:] = {self.of(shape, 2)}",
            f"{b}[np.arange({k}) // 2] {self.c.pick('=', '+=')} {self.of(shape, 1)}",
            f"np.add.at({b}, np.arange({k}) // 2, {self.of(shape, 1)})",
            f"{b}[::2] = {self.name(())}", f"{b}[...] = {b}[::-1] * 0.5", f"{b}[{b} > 0.4] = {self.name(())}",
            f"{b} *= {self.name(())}", f"{b} += {self.of(shape, 1)}",
        ]  # fmt: skip
        if rest:
            ways += [f"{b}[:, {self.index(rest[0])}] {sign} {self.of((k,), 1)}",
                     f"{b}[{self.index(k)}, {self.index(rest[0])}] {sign} {self.of((), 2)}"]  # fmt: skip
        self.out(self.c.pick(*ways))

    def do_alias(self) -> None:
        """Another name for an array that may be written to, or for a part of it."""
        if self.scope.buffers:
            b = self.c.pick(*self.scope.buffers)
            shape = self.scope.floats[b]
            view, part = self.c.pick((b, shape), (f"{b}[::-1]", shape), (f"{b}[0]", shape[1:]))
            if part:
                self.scope.buffers.append(self.assign(part, view, "b"))

    def do_container(self) -> None:
        a, b = self.shape(), self.shape()
        name, first = self.new("t"), self.of(a, 1)
        kind = self.c.pick("dict", "tuple", "list")
        if kind == "dict":
            self.out(f"{name} = {{'p': {first}, 'q': {self.of(b, 1)}}}")
            keys = "'p'", "'q'"
        else:
            self.out(
                f"{name} = {'[]'[0] if kind == 'list' else '('}{first}, {self.of(b, 1)}{']' if kind == 'list' else ')'}"
            )
            keys = "0", "1"
        if kind != "tuple" and self.c.chance(50):
            self.out(f"{name}[{keys[0]}] = {name}[{keys[0]}] * {self.name(())}")
        self.assign(a, f"{name}[{keys[0]}]")
        self.assign(b, f"{name}[{keys[1]}]")

    def do_local(self) -> None:
        """A function of its own, which reads what is outside, called twice."""
        shape, f = self.shape(), self.new("g")
        inside = self.within(self.scope.inner(u=shape), self.indent + 1)
        self.out(f"def {f}(u):")
        if self.deep < 2:
            inside.statements(self.c.below(2))
        self.lines += inside.lines
        inside.lines = []
        self.out(f"    return {inside.of(shape, 2)}")
        a = self.name(shape)
        self.assign(shape, self.c.pick(f"{f}({a})", f"{f}({a}) * {f}({self.name(shape)})", f"{f}({f}({a}))"))

    # ---- branches and loops

    def block(self, count: int, loop: bool = False) -> Scope:
        """Statements one level deeper, whose names end with them; returns what their scope was."""
        before, self.scope = self.scope, self.scope.copy()
        self.indent, self.deep = self.indent + 1, self.deep + 1
        if loop and self.c.chance(15):
            self.out(f"if {self.test()}:")
            self.out(f"    {self.c.pick('break', 'continue')}")
        names = [n for n in before.own if n not in before.buffers]
        if names:
            name = self.c.pick(*names[::-1])
            e = self.of(before.floats[name], 2)
            self.out(f"{name} = {self.c.pick('np.tanh({})', '0.5 * {} + ' + name, '{}').format(e)}")
        elif not self.scope.buffers:
            self.out("pass")
        for _ in range(count):
            kinds = {
                k: w for k, w in STATEMENTS.items() if self.deep < 3 or k in ("assign", "again", "store", "buffer")
            }
            getattr(self, f"do_{self.c.weighted(kinds)}")()
        if self.lines[-1].strip().endswith(":"):
            self.out("pass")
        self.indent, self.deep = self.indent - 1, self.deep - 1
        ended, self.scope = self.scope, before
        return ended

    def ready(self) -> None:
        """A name that a block may change."""
        if not set(self.scope.own) - set(self.scope.buffers):
            self.do_assign()

    def do_branch(self) -> None:
        self.ready()
        self.out(f"if {self.test()}:")
        self.block(self.c.below(3))
        if self.c.chance(60):
            self.out("else:")
            self.block(self.c.below(3))

    def do_loop(self) -> None:
        self.ready()
        i, times = self.new("i"), self.c.pick("2", "n", "3", "1", "0", "n + 1")
        self.out(f"for {i} in range({times}):")
        self.scope.ints[i] = {"2": 2, "3": 3, "1": 1, "0": 1}.get(times, 4)
        self.block(self.c.below(3), loop=True)
        self.scope.ints.pop(i)

    def do_until(self) -> None:
        """A loop that ends by a value."""
        self.ready()
        w, s = self.new("w"), self.assign((), self.of((), 1))
        self.out(f"{w} = 0")
        self.out(f"while {w} < {self.c.pick('3', 'n', '0')} and {s} < 1.37:")
        self.out(f"    {w} += 1")
        self.out(f"    {s} = {s} * 1.25 + 0.19 + 0.1 * np.sin({self.name(())})")
        self.block(self.c.below(2), loop=True)

    # ---- forms

    def lambda_of(self, shapes: list[Shape], result: Shape | list[Shape], fuel: int = 2) -> str:
        names = [chr(ord("p") + k) for k in range(len(shapes))]
        inside = self.within(self.scope.inner(**dict(zip(names, shapes, strict=True))), 0)
        wanted = result if isinstance(result, list) else [result]
        made = ", ".join(inside.of(s, fuel) for s in wanted)
        return f"lambda {', '.join(names)}: {f'({made})' if isinstance(result, list) else made}"

    def operands(self) -> list[Shape]:
        return [self.shape() for _ in range(self.c.below(3) + 1)]

    def given(self, shapes: list[Shape]) -> str:
        """Arguments of these shapes; the same one twice if it fits."""
        return ", ".join(self.name(s) for s in shapes)

    def do_cond(self) -> None:
        shapes = self.operands()
        if self.c.chance(30):
            shapes = [shapes[0]] * 2
        results = [self.c.pick(*shapes) for _ in range(self.c.below(2) + 1)]
        wanted: Shape | list[Shape] = results[0] if len(results) == 1 else results
        yes, no = self.lambda_of(shapes, wanted), self.lambda_of(shapes, wanted)
        names = [self.new("v") for _ in results]
        self.out(f"{', '.join(names)} = cond({self.test()}, {yes}, {no}, {self.given(shapes)})")
        for name, shape in zip(names, results, strict=True):
            self.bind(name, shape)

    def do_scan(self) -> None:
        step, row = self.new("step"), self.shape()
        carries = [self.shape() for _ in range(self.c.below(2) + 1)]
        over = row[1:] if row else ()
        inside = self.within(self.scope.inner(c=carries[0], r=over), self.indent + 1)
        self.out(f"def {step}(c, r):")
        if not row:
            inside.scope.floats.pop("r")
        if len(carries) == 2:
            kind = self.c.pick("tuple", "dict")
            inside.out("c, d = c" if kind == "tuple" else "c, d = c['c'], c['d']")
            inside.scope.floats["d"] = carries[1]
        if self.deep < 2:
            inside.statements(self.c.below(3))
        last = [f"np.tanh({inside.of(s, 2)})" for s in carries]
        y = self.shape()
        starts = [self.name(s) for s in carries]
        if len(carries) == 2:
            form = "({}, {})" if kind == "tuple" else "{{'c': {}, 'd': {}}}"
            carry, start = form.format(*last), form.format(*starts)
        else:
            carry, start = last[0], starts[0]
        inside.out(f"return {carry}, {inside.of(y, 1)}")
        self.lines += inside.lines
        reverse = ", reverse=True" if self.c.chance(25) else ""
        count: Dim = row[0] if row else self.c.pick(2, 3, 1)
        xs = self.name(row) if row else f"None, length={count}"
        end, ys = self.new("e"), self.new("v")
        self.out(f"{end}, {ys} = scan({step}, {start}, {xs}{reverse})")
        self.bind(ys, (count, *y))
        parts = [f"{end}[0]", f"{end}[1]"] if len(carries) == 2 else [end]
        if len(carries) == 2 and kind == "dict":
            parts = [f"{end}['c']", f"{end}['d']"]
        for shape, part in zip(carries, parts, strict=True):
            self.assign(shape, part)
        if len(y) > 1 or (y and self.c.chance(50)):
            self.scope.floats.pop(ys)
            self.scope.own.remove(ys)
            self.assign(y, f"np.sum({ys}, axis=0)")

    def do_fori(self) -> None:
        shape = self.shape()
        inside = self.within(self.scope.inner(s=shape), 0)
        inside.scope.ints["i"] = 3
        times = self.c.pick("2", "n", "3", "0", "1")
        self.assign(
            shape, f"fori_loop(0, {times}, lambda i, s: np.tanh({inside.of(shape, 2)} + 0.1 * i), {self.name(shape)})"
        )

    def do_while_loop(self) -> None:
        shape = self.shape()
        inside = self.within(self.scope.inner(s=shape), 0)
        most = self.c.pick("3", "n", "1", "0")
        test = f"lambda k: (k[0] < {most}) & (k[1] < 2.11)"
        body = f"lambda k: (k[0] + 1, k[1] * 1.3 + 0.17, (lambda s: np.sin({inside.of(shape, 2)}))(k[2]))"
        self.assign(shape, f"while_loop({test}, {body}, (0, {self.name(())}, {self.name(shape)}))[2]")

    def do_checkpoint(self) -> None:
        shapes, result = self.operands(), self.shape()
        self.assign(result, f"checkpoint({self.lambda_of(shapes, result)})({self.given(shapes)})")

    def do_inner(self) -> None:
        """A derivative of a function that reads what is outside."""
        if self.order >= self.most_order:
            return self.do_assign()
        shape = self.shape()
        if length(shape[0]) * length(shape[-1]) > 6 if shape else False:
            shape = ()
        self.order += 1
        self.weight *= 3
        e = self.lambda_of([shape], ())
        x, v = self.name(shape), self.of(shape, 1)
        self.assign(shape, self.c.pick(
            f"grad({e})({x})", f"jvp({self.lambda_of([shape], shape)}, ({x},), ({v},))[1]",
            f"vjp({self.lambda_of([shape], shape)}, {x})[1]({v})[0]", f"value_and_grad({e})({x})[1]",
        ))  # fmt: skip


def function(name: str, parameters: str, body: Body, result: Shape, count: int) -> list[str]:
    """The lines of a function with so many statements."""
    body.statements(count)
    c = body.c
    late = [n for n, s in list(body.scope.floats.items())[::-1] if s == result][:2]
    made = body.of(result, 2)
    if late and c.chance(60):
        made = f"{made} + {c.pick(*late)}"
    others = [n for n, s in body.scope.floats.items() if s != result and n[0] in "vb"]
    for other in others[-2:]:
        made += f" + np.sum({other})"
    body.out(f"return {made}")
    return [f"def {name}({parameters}):", *body.lines]
