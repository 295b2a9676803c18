"""The kernels of a function with named sizes: from its cases to LLVM texts for one level of processors.

    define hidden i64 @NAME.LEVEL(ptr %sizes, ptr ..., ptr %report)     runs the kernel of the first case that holds
    define hidden i64 @NAME.LEVEL.K(ptr %sizes, ptr ..., ptr %report)   kernels, each an object file of its own

A case whose kernel holds for some of its sizes only (`lowering.every_size`) has several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ...ir.measure import Guard, Sizes
from ...ir.types import Dim, Size
from ...lowering.every_size import for_every_size
from ...lowering.pattern import Told
from ...lowering.program import Program
from ...passes.pipeline import optimize
from ..emit import EmittedKernel, emit
from ..emit.sizes import polynomial, quotient
from .cpu import Level
from .describe import Case, Function

UNSERVED = -3
"""What a kernel returns, having done nothing, for sizes that it does not serve."""

NO_MEMORY = -1
MOST_FORMS = 8
"""Kernels of one case."""

_LARGEST = 2.0**52  # of a product of sizes: no array is as large, and sums of some of them fit into 64 bits


@dataclass(frozen=True)
class Form:
    """One kernel: its program, its text, and what must hold."""

    program: Program
    emitted: EmittedKernel
    conditions: tuple[Guard, ...]
    sizes: Sizes


def forms_of(function: Function, name: str, level: Level) -> list[Form]:
    """The kernels of a function for a level, in the order in which they are tried."""
    made: list[Form] = []
    for case in function.cases:
        made += _forms_of_case(function, case, f"{name}.{level.name}", level, len(made))
    return made


def _forms_of_case(function: Function, case: Case, name: str, level: Level, first: int) -> list[Form]:
    """The kernel of a case, and further ones for sizes for which it does not hold."""
    made: list[Form] = []
    graph = optimize(case.portable or case.graph)
    for numbers in _examples(function, case):
        if any(_serves(form, numbers) for form in made):
            continue
        try:
            program, told = for_every_size(graph, function.sizes, numbers, case.quotients, level.vector_bits)
            made.append(_form(case, program, told, f"{name}.{first + len(made)}", level))
        except TypeError as error:
            raise TypeError(_refusal(function, "what code is written depends on its number")) from error
        if len(made) > MOST_FORMS or not _serves(made[-1], numbers):
            at = ", ".join(f"{size} = {n}" for size, n in numbers.items())
            raise TypeError(_refusal(function, f"its loops take more than {MOST_FORMS} forms (another one for {at})"))
    return made


def _refusal(function: Function, why: str) -> str:
    names = "the sizes " if len(function.sizes) > 1 else "the size "
    return f"{function.name} cannot be built with {names}{', '.join(function.sizes)} known by name: {why}; leave it out"


def _form(case: Case, program: Program, told: Told, name: str, level: Level) -> Form:
    emitted = emit(program, name, level.fma, told, on_stack=-1)
    return Form(program, emitted, (*case.conditions(), *told.sizes.guards), told.sizes)


def _serves(form: Form, numbers: Mapping[str, int]) -> bool:
    found = form.sizes.complete(numbers)
    return all(guard.holds(found) for guard in form.conditions)


TYPICAL = (1000, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
"""Numbers for sizes, at which it is decided what is faster."""

SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 64, 65, 100, 128)
FEW = (0, 1, 2, 5, 17)
HUGE = (10**4, 10**5, 10**6, 10**8)


def _examples(function: Function, case: Case) -> Iterator[dict[str, int]]:
    """Numbers that the case serves: large ones, then each size alone small or huge, then several small."""
    names = function.sizes
    large = {name: TYPICAL[k % len(TYPICAL)] + 64 * (k // len(TYPICAL)) for k, name in enumerate(names)}
    tried = [large, *({**large, name: n} for name in names for n in (*SMALL, *HUGE))]
    tried += [dict.fromkeys(names, n) for n in (*SMALL, *HUGE)]
    if len(names) <= 3:
        tried += [dict(zip(names, each, strict=True)) for each in product(FEW, repeat=len(names))]
    for free in tried:
        numbers = {name: _at(case.where.get(name, Size.named(name)), free) for name in names}
        found = dict(numbers)
        for name, (dividend, divisor) in case.quotients.items():
            found[name] = dividend.at(found) // divisor
        if all(guard.holds(found) for guard in case.conditions()):
            yield numbers


def _at(dim: Dim, numbers: Mapping[str, int]) -> int:
    return dim.at(numbers) if isinstance(dim, Size) else dim


# ---- LLVM text


class SizeWriter:
    """Instructions that compute with sizes, which stand in memory in the order of their names."""

    def __init__(self, names: Sequence[str], quotients: Mapping[str, tuple[Size, int]], stem: str) -> None:
        self.lines: list[str] = []
        self._stem, self._count = stem, 0
        self.held = {name: f"%{stem}.{k}.size" for k, name in enumerate((*names, *quotients))}
        for k, name in enumerate(names):
            self.lines.append(f"  %{stem}.{k}.at = getelementptr i64, ptr %sizes, i64 {k}")
            self.lines.append(f"  {self.held[name]} = load i64, ptr %{stem}.{k}.at, align 8")
        for name, (dividend, divisor) in quotients.items():
            value = polynomial(self.lines, f"{self.held[name]}.of", dividend, self.held)
            self.lines += quotient(self.held[name], value, divisor)

    def _next(self) -> str:
        self._count += 1
        return f"%{self._stem}.v{self._count}"

    def value(self, dim: Dim) -> str:
        """A dimension."""
        return polynomial(self.lines, self._next() + ".p", dim, self.held) if isinstance(dim, Size) else str(dim)

    def all_hold(self, guards: Iterable[Guard]) -> str:
        """Whether guards hold."""
        every = "true"
        for guard in dict.fromkeys(guards):
            number, one, both = self.value(guard.size), self._next(), self._next()
            relation = {"> 0": "sgt", "== 0": "eq", "!= 0": "ne"}[guard.relation]
            self.lines.append(f"  {one} = icmp {relation} i64 {number}, 0")
            self.lines.append(f"  {both} = and i1 {every}, {one}")
            every = both
        return every

    def fit(self, products: Iterable[tuple[str, ...]]) -> str:
        """Whether products of names are no more than what 64 bits hold by far."""
        every = "true"
        for names in products:
            total = "1.0"
            for name in names:
                wide, more = self._next(), self._next()
                self.lines.append(f"  {wide} = sitofp i64 {self.held[name]} to double")
                self.lines.append(f"  {more} = fmul double {total}, {wide}")
                total = more
            one, both = self._next(), self._next()
            self.lines.append(f"  {one} = fcmp olt double {total}, {_LARGEST:.1f}")
            self.lines.append(f"  {both} = and i1 {every}, {one}")
            every = both
        return every


def choice_text(
    function: Function, forms: Sequence[Form], name: str, level: Level, pointers: int, statuses: Sequence[Sequence[int]]
) -> str:
    """The function that runs the kernel of the first form that holds; `statuses` are what those of each mean."""
    own = f"{name}.{level.name}"
    types = ", ".join(["ptr"] * pointers)
    params = ", ".join(["ptr %sizes", *(f"ptr %p{k}" for k in range(1, pointers))])
    lines, tables = [f"define hidden i64 @{own}({params}) nounwind {{", "entry:", "  br label %try0"], []
    for k, (form, known) in enumerate(zip(forms, statuses, strict=True)):
        w = SizeWriter(function.sizes, form.sizes.quotients, f"f{k}")
        holds, fits = w.all_hold([*_from_zero(function), *form.conditions]), w.fit(_products(form))
        lines += [f"try{k}:", *w.lines, f"  br i1 {holds}, label %fits{k}, label %try{k + 1}",
                  f"fits{k}:", f"  br i1 {fits}, label %run{k}, label %large", f"run{k}:",
                  f"  %status{k} = call i64 @{own}.{k}({params})"]
        if list(known) == list(range(1, len(known) + 1)):
            lines.append(f"  ret i64 %status{k}")
            continue
        tables.append(f"@{own}.{k}.statuses = private constant [{len(known)} x i64] "
                      f"[{', '.join(f'i64 {status}' for status in known)}]")
        lines += [f"  %failed{k} = icmp sgt i64 %status{k}, 0", f"  br i1 %failed{k}, label %told{k}, label %same{k}",
                  f"same{k}:", f"  ret i64 %status{k}", f"told{k}:", f"  %index{k} = sub i64 %status{k}, 1",
                  f"  %place{k} = getelementptr i64, ptr @{own}.{k}.statuses, i64 %index{k}",
                  f"  %number{k} = load i64, ptr %place{k}, align 8", f"  ret i64 %number{k}"]
    lines += [f"try{len(forms)}:", f"  ret i64 {UNSERVED}", "large:", f"  ret i64 {NO_MEMORY}", "}", ""]
    return "\n".join([*(f"declare hidden i64 @{own}.{k}({types})" for k in range(len(forms))), *tables, *lines])


def _from_zero(function: Function) -> Iterator[Guard]:
    """That no size is negative, which C may say."""
    for name in function.sizes:
        positive = Size.named(name) + 1
        assert isinstance(positive, Size)
        yield Guard(positive, "> 0")


def _products(form: Form) -> list[tuple[str, ...]]:
    """The products of names in all that a kernel computes of them."""
    sizes = form.sizes
    every = [*sizes.registers, *(dividend for dividend, _ in sizes.quotients.values()),
             *(guard.size for guard in form.conditions)]
    return sorted({names for size in every for names, _ in size.terms if names})


def served_text(function: Function, results: Sequence[int]) -> str:
    """The function that finds the case of sizes, and the dimensions of arrays that are returned.

    define internal i64 @.served_NAME(ptr %sizes, ptr %dims)            its number, or -1 if there is none
    """
    lines = [f"define internal i64 @.served_{function.name}(ptr %sizes, ptr %dims) nounwind {{",
             "entry:", "  br label %try0"]
    for k, case in enumerate(function.cases):
        w = SizeWriter(function.sizes, case.quotients, f"c{k}")
        holds = w.all_hold(case.conditions())
        lines += [f"try{k}:", *w.lines, f"  br i1 {holds}, label %this{k}, label %try{k + 1}", f"this{k}:"]
        w.lines, at = [], 0
        for result in results:
            for dim in case.graph.results[result].type.shape:
                value = w.value(dim)
                w.lines.append(f"  %c{k}.d{at} = getelementptr i64, ptr %dims, i64 {at}")
                w.lines.append(f"  store i64 {value}, ptr %c{k}.d{at}, align 8")
                at += 1
        lines += [*w.lines, f"  ret i64 {k}"]
    return "\n".join([*lines, f"try{len(function.cases)}:", "  ret i64 -1", "}", ""])


def joined(failures: Sequence[tuple[tuple[str, str], ...]]) -> tuple[tuple[tuple[str, str], ...], list[list[int]]]:
    """All that kernels may raise, each once, and what number of that list each status of each kernel is."""
    every: dict[tuple[str, str], int] = {}
    numbers = [[every.setdefault(each, len(every) + 1) for each in row] for row in failures]
    return tuple(every), numbers


__all__ = ["UNSERVED", "Form", "SizeWriter", "choice_text", "forms_of", "joined", "served_text"]
