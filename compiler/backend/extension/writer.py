"""The text of one function of an extension module under construction: instructions, constants, owned references.

What a call owns stands in a row `%held` of references, as many as `%depth` says, and in a row `%views` of buffers;
the block `leave` gives all of it back and returns `%result`, which is null until the call has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable

from .argument_text import VIEW_OBJECT, VIEW_SIZE
from .array_text import NUMPY_STATE
from .names import text_constant


class Objects:
    """Python objects that each instance of the module makes when it is imported, in its state behind NumPy's."""

    def __init__(self) -> None:
        self.values: list[float | str] = []
        self._known: dict[tuple[type, str], int] = {}

    @property
    def size(self) -> int:
        """Bytes of the state of a module."""
        return NUMPY_STATE + 8 * len(self.values)

    def offset(self, value: float | str) -> int:
        """Where in the state a string or number is."""
        key = (type(value), str(value))  # 0.0 and -0.0 are equal
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
        return NUMPY_STATE + 8 * self._known[key]


class FunctionWriter:
    """Lines, stack slots and constants of a function."""

    def __init__(self, name: str, objects: Objects) -> None:
        self.name, self.objects = name, objects
        self.constants: list[str] = []
        self.frame: list[str] = []
        self.lines: list[str] = []
        self.depth = 0
        self._most = self._views = self._count = 0

    def do(self, line: str) -> None:
        """Add an instruction that has no value."""
        self.lines.append(f"  {line}")

    def value(self, expression: str) -> str:
        """Add an instruction and name its value."""
        self._count += 1
        self.do(f"%v{self._count} = {expression}")
        return f"%v{self._count}"

    def load(self, kind: str, pointer: str) -> str:
        return self.value(f"load {kind}, ptr {pointer}")

    def start(self, block: str) -> None:
        self.lines.append(f"{block}:")

    def go_on_if(self, condition: str) -> None:
        """Leave, with the exception that is set, unless a condition holds."""
        self._count += 1
        self.do(f"br i1 {condition}, label %b{self._count}, label %leave")
        self.start(f"b{self._count}")

    def go_on_unless(self, condition: str, refuse: Callable[[], None]) -> None:
        """Write what raises, and leave, if a condition holds."""
        self._count += 1
        block = self._count
        self.do(f"br i1 {condition}, label %refused{block}, label %b{block}")
        self.start(f"refused{block}")
        refuse()
        self.do("br label %leave")
        self.start(f"b{block}")

    def made(self, value: str) -> str:
        """Leave if a new object or pointer is null."""
        self.go_on_if(self.value(f"icmp ne ptr {value}, null"))
        return value

    def slot(self, kind: str) -> str:
        """A place in the stack frame."""
        name = f"%s{len(self.frame)}"
        self.frame.append(f"  {name} = alloca {kind}, align 8")
        return name

    def view(self) -> str:
        """A place for a buffer."""
        self._views += 1
        return self.value(f"getelementptr [{VIEW_SIZE} x i8], ptr %views, i64 {self._views - 1}")

    def constant(self, definition: str) -> str:
        """A constant of the module."""
        name = f"@{self.name}.{len(self.constants)}"
        self.constants.append(f"{name} = private constant {definition}")
        return name

    def text(self, text: str) -> str:
        """A constant text."""
        name = f"{self.name}.{len(self.constants)}"
        self.constants.append(text_constant(name, text))
        return f"@{name}"

    def fixed(self, value: object) -> str:
        """None, a bool, or a number or string of the table of objects."""
        if value is None or isinstance(value, bool):
            return f"@_Py_{'None' if value is None else str(value)}Struct"
        assert isinstance(value, int | float | str)
        return self.load("ptr", self.value(f"getelementptr i8, ptr %state, i64 {self.objects.offset(value)}"))

    # ---- what the call owns

    def hold(self, reference: str) -> None:
        """Own a reference until the end of the call."""
        self.do(f"store ptr {reference}, ptr {self.held(self.depth)}")
        self.set_depth(self.depth + 1)

    def held(self, place: int) -> str:
        """Where a reference is held."""
        return self.value(f"getelementptr ptr, ptr %held, i64 {place}")

    def set_depth(self, depth: int) -> None:
        """Own only the first so many."""
        self.depth, self._most = depth, max(depth, self._most)
        self.do(f"store i64 {depth}, ptr %depth")

    # ---- the whole

    def function(self, names: tuple[str, ...], signature: str) -> str:
        """The function that binds its arguments to `%given` and then does what has been written."""
        count, title, shown = len(names), self.text(f"{self.name}()"), self.text(signature)
        places = ", ".join(f"i64 {self.objects.offset(name)}" for name in names)
        known = self.constant(f"[{count} x i64] [{places}]")
        empty = []
        for k in range(self._views):
            empty.append(f"  %empty{k} = getelementptr i8, ptr %views, i64 {k * VIEW_SIZE + VIEW_OBJECT}")
            empty.append(f"  store ptr null, ptr %empty{k}")
        binding = f"ptr %args, i64 %count, ptr %kwnames, ptr {known}, i64 {count}, ptr %bound, ptr {title}, ptr {shown}"
        binding += ", ptr %state"
        return "\n".join([
            *self.constants,
            f"define internal ptr @.call_{self.name}(ptr %module, ptr %args, i64 %count, ptr %kwnames) nounwind {{",
            "entry:",
            f"  %held = alloca [{self._most + 1} x ptr]",
            "  %depth = alloca i64",
            "  %result = alloca ptr",
            f"  %views = alloca [{self._views * VIEW_SIZE} x i8], align 16",
            f"  %bound = alloca [{count} x ptr]",
            *self.frame,
            "  %state = call ptr @PyModule_GetState(ptr %module)",
            *empty,
            "  store i64 0, ptr %depth",
            "  store ptr null, ptr %result",
            "  %plain = icmp eq ptr %kwnames, null",
            f"  %enough = icmp eq i64 %count, {count}",
            "  %quick = and i1 %plain, %enough",
            "  br i1 %quick, label %read, label %bind",
            "bind:",
            f"  %fits = call i1 @.bind({binding})",
            "  br i1 %fits, label %read, label %leave",
            "read:",
            "  %given = phi ptr [ %args, %entry ], [ %bound, %bind ]",
            *self.lines,
            "  br label %leave",
            "leave:",
            "  %references = load i64, ptr %depth",
            f"  call void @.give_back(ptr %views, i64 {self._views}, ptr %held, i64 %references)",
            "  %made = load ptr, ptr %result",
            "  ret ptr %made",
            "}",
            "",
        ])
