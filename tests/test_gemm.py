"""Our own products of matrices: values, bits, bounds, memory, threads and interrupts."""

import ctypes
import functools
import itertools
import mmap
import resource
import subprocess
import sys
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from pullback.compiler.backend import gemm, machine, process, processor, threads
from pullback.compiler.backend.gemm import modules
from pullback.compiler.backend.gemm.batch import batched
from pullback.compiler.backend.gemm.pack import copies
from pullback.compiler.backend.gemm.text import KEPT, single, text
from pullback.compiler.backend.gemm.tile import shape, tiles
from pullback.compiler.backend.linking.module import Linked, link
from pullback.compiler.settings import settings

WORD, POINTER = ctypes.c_int64, ctypes.c_void_p
BLOCK = 256  # of k, from the rule about bits
SINGLE = (WORD, WORD, WORD, POINTER, WORD, WORD, POINTER, WORD, WORD, POINTER, WORD)
BATCH = (WORD, WORD, WORD, WORD, *[POINTER, WORD, WORD, WORD] * 2, POINTER, WORD, WORD)
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
DTYPES = pytest.mark.parametrize("dtype", TYPES)
WIDTHS = pytest.mark.parametrize("bits", (128, 256, 512))
TURNS = tuple(itertools.product((0, 1), repeat=2))

# Around the tiles' heights (4, 6, 8, 12) and panels (4 to 32 columns), a block of k and one of columns.
SHAPES = [
    (1, 1, 1), (1, 33, 7), (7, 1, 5), (2, 3, 4), (4, 4, 4), (5, 7, 3), (6, 8, 9), (8, 16, 2), (12, 32, 1), (13, 17, 19),
    (11, 31, 37), (12, 16, 16), (16, 15, 8), (17, 48, 23), (24, 64, 10), (25, 33, 41), (29, 5, 255), (23, 40, 256),
    (30, 70, 257), (37, 130, 64), (100, 25, 25), (64, 64, 64), (3, 300, 300), (97, 101, 103), (20, 540, 270),
]


@dataclass
class Spread:
    """A matrix with strangers around it: before the first row, between rows and after the last."""

    rows: int
    columns: int
    dtype: np.dtype
    stranger: float
    lead: int = 0
    memory: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.lead = self.lead or self.columns + 3
        self.memory = np.full((self.rows + 2) * self.lead + 5, self.stranger, self.dtype)

    @property
    def values(self) -> np.ndarray:
        inside = self.memory[self.lead + 1 : self.lead + 1 + self.rows * self.lead]
        return inside.reshape(self.rows, self.lead)[:, : self.columns]

    @property
    def address(self) -> int:
        return self.values.ctypes.data

    def strangers(self) -> np.ndarray:
        outside = self.memory.copy()
        inside = outside[self.lead + 1 : self.lead + 1 + self.rows * self.lead]
        inside.reshape(self.rows, self.lead)[:, : self.columns] = self.stranger
        return outside


@functools.cache
def _alone(dtype: str, bits: int, fma: bool = True, cpu: str = "") -> Linked:
    """A module that runs its chunks one after another."""
    objects = machine.compile_object(modules.standalone(dtype, bits, fma), 2, cpu)
    return link(objects, process.allocator_symbols(), (single(dtype), batched(dtype)))


def _function(linked: Linked, dtype: str):
    return process.native_callable(linked.address(single(dtype)), WORD, *SINGLE)


def _pooled(dtype: str, kinds: tuple = SINGLE):
    name = single(dtype) if kinds is SINGLE else batched(dtype)
    return process.native_callable(gemm.symbols(dtype)[name], WORD, *kinds)


def _multiply(function, a: np.ndarray, b: np.ndarray, ta: int = 0, tb: int = 0) -> np.ndarray:
    """op(a) @ op(b) of contiguous arrays."""
    (k, m), n = (a.shape if ta else a.shape[::-1]), b.shape[1 - tb]
    c = np.full((m, n), np.nan, a.dtype)
    assert function(m, n, k, a.ctypes.data, a.shape[1], ta, b.ctypes.data, b.shape[1], tb, c.ctypes.data, n) == 0
    return c


def _stored(values: np.ndarray, turned: int) -> np.ndarray:
    return np.ascontiguousarray(values.T if turned else values)


def _close(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
    """Within the error bound of a sum: k roundings of the sum of absolute products."""
    wide = np.longdouble if c.dtype == np.float64 else np.float64
    exact = a.astype(wide) @ b.astype(wide)
    bound = np.abs(a.astype(wide)) @ np.abs(b.astype(wide)) * float(np.finfo(c.dtype).eps) * a.shape[1]
    return bool(np.all(np.abs(c - exact) <= bound))  # False for NaN


@DTYPES
@WIDTHS
def test_every_shape_and_transposition_stays_inside_and_is_right(dtype, bits, rng):
    function, kind = _function(_alone(dtype, bits), dtype), TYPES[dtype]
    for number, (m, n, k) in enumerate(SHAPES):
        for ta, tb in TURNS:
            stranger = (np.nan, np.inf)[number % 2]
            a = Spread(k if ta else m, m if ta else k, kind, stranger)
            b = Spread(n if tb else k, k if tb else n, kind, stranger)
            c = Spread(m, n, kind, -7.0)
            for side in (a, b):
                side.values[:] = rng.normal(size=side.values.shape)
            assert function(m, n, k, a.address, a.lead, ta, b.address, b.lead, tb, c.address, c.lead) == 0
            left, right = a.values.T if ta else a.values, b.values.T if tb else b.values
            assert _close(c.values, left, right), (m, n, k, ta, tb)
            assert np.all(c.strangers() == -7.0), (m, n, k, ta, tb)


@DTYPES
def test_bits_are_those_of_the_rule_at_every_width(dtype, rng):
    """Each element by itself: blocks of k with the C library's fma, each from 0, added up in order."""
    kind = TYPES[dtype]
    name, real = ("fma", ctypes.c_double) if dtype == "f64" else ("fmaf", ctypes.c_float)
    fma = process.native_callable(process.library_symbol(process.open_library(), name), real, real, real, real)

    def element(a, b):
        total = None
        for start in range(0, len(a), BLOCK):
            part = 0.0
            for x, y in zip(a[start : start + BLOCK], b[start : start + BLOCK], strict=True):
                part = fma(x, y, part)
            total = part if total is None else float(kind.type(total) + kind.type(part))
        return total

    for m, n, k in [(5, 37, 1), (13, 5, 255), (9, 18, 256), (14, 35, 257), (3, 4, 700)]:
        a, b = rng.normal(size=(m, k)).astype(kind), rng.normal(size=(k, n)).astype(kind)
        c = _multiply(_function(_alone(dtype, 512), dtype), a, b)
        for i, j in {(0, 0), (m - 1, n - 1), (m // 2, n // 3), (m - 1, 0)}:
            assert c[i, j] == element(a[i].tolist(), b[:, j].tolist()), (m, n, k, i, j)


@DTYPES
def test_bits_depend_neither_on_width_nor_on_transposition_nor_on_neighbours(dtype, rng):
    kind = TYPES[dtype]
    for m, n, k in [(1, 1, 3), (13, 37, 300), (70, 530, 40), (50, 60, 513), (310, 290, 270)]:
        a, b = rng.normal(size=(m, k)).astype(kind), rng.normal(size=(k, n)).astype(kind)
        product = _multiply(_function(_alone(dtype, 512), dtype), a, b)
        assert _close(product, a, b)
        want = product.tobytes()
        for bits in (128, 256, 512):
            function = _function(_alone(dtype, bits), dtype)
            for ta, tb in TURNS:
                got = _multiply(function, _stored(a, ta), _stored(b, tb), ta, tb)
                assert got.tobytes() == want, (m, n, k, bits, ta, tb)
        i, j = m - 1, n // 2
        alone = _multiply(function, a[i:], np.ascontiguousarray(b[:, j : j + 1]))
        assert alone.tobytes() == np.frombuffer(want, kind).reshape(m, n)[i, j].tobytes()


@DTYPES
def test_without_fma_products_are_rounded_before_they_are_added(dtype, rng):
    linked = _alone(dtype, 128, False, "x86-64" if sys.platform != "darwin" else "")
    kind, function = TYPES[dtype], _function(linked, dtype)
    for m, n, k in [(5, 9, 70), (13, 20, 300)]:
        a, b = rng.normal(size=(m, k)).astype(kind), rng.normal(size=(k, n)).astype(kind)
        total = None
        for start in range(0, k, BLOCK):
            part = np.zeros((m, n), kind)
            for i in range(start, min(k, start + BLOCK)):
                part = part + a[:, i : i + 1] * b[i]
            total = part if total is None else total + part
        assert total is not None
        for ta, tb in TURNS:
            assert _multiply(function, _stored(a, ta), _stored(b, tb), ta, tb).tobytes() == total.tobytes()


@DTYPES
def test_empty_products_are_zeros_and_empty_results_touch_nothing(dtype):
    function, kind = _function(_alone(dtype, 256), dtype), TYPES[dtype]
    c = Spread(5, 7, kind, -7.0)
    nothing = np.full(4, np.nan, kind).ctypes.data
    assert function(5, 7, 0, nothing, 1, 0, nothing, 7, 0, c.address, c.lead) == 0
    assert np.all(c.values == 0) and np.all(c.strangers() == -7.0)
    for m, n in [(0, 7), (5, 0), (0, 0)]:
        c = Spread(5, 7, kind, -7.0)
        assert function(m, n, 3, nothing, 1, 0, nothing, 1, 0, c.address, c.lead) == 0
        assert np.all(c.memory == -7.0)


@DTYPES
def test_special_values_reach_their_row_and_column_only(dtype, rng):
    function, kind = _function(_alone(dtype, 512), dtype), TYPES[dtype]
    a, b = rng.normal(size=(40, 300)).astype(kind), rng.normal(size=(300, 50)).astype(kind)
    plain = _multiply(function, a, b)
    a[13, 299] = np.nan
    b[0, 49] = np.inf
    c = _multiply(function, a, b)
    assert np.all(np.isnan(c[13])) and not np.any(np.isfinite(c[:, 49]))
    others = np.ix_([i for i in range(40) if i != 13], range(49))
    assert c[others].tobytes() == plain[others].tobytes()


_AT_THE_EDGE = """
import ctypes, itertools, mmap, sys
import numpy as np
from pullback.compiler.backend import machine, process
from pullback.compiler.backend.gemm import modules
from pullback.compiler.backend.gemm.pack import copies
from pullback.compiler.backend.gemm.text import single
from pullback.compiler.backend.linking.module import link

libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PAGE, PAGES = mmap.PAGESIZE, 170

def fenced(values, at_end):
    room = mmap.mmap(-1, (PAGES + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for fence in (start, start + (PAGES + 1) * PAGE):
        assert libc.mprotect(fence, PAGE, 0) == 0
    inside = np.frombuffer(room, values.dtype, PAGES * PAGE // values.itemsize, PAGE)
    place = inside[len(inside) - values.size:] if at_end else inside[:values.size]
    place = place.reshape(values.shape)
    place[:] = values
    keep.append(room)
    return place

keep = []
rng = np.random.default_rng(0)
for dtype, bits in itertools.product(("f32", "f64"), (128, 256, 512)):
    objects = machine.compile_object(modules.standalone(dtype, bits, True), 2)
    linked = link(objects, process.allocator_symbols(), (single(dtype),))
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    kinds = (word, word, word, pointer, word, word, pointer, word, word, pointer, word)
    function = process.native_callable(linked.address(single(dtype)), word, *kinds)
    for m, n, k in [(1, 1, 1), (5, 3, 7), (13, 17, 19), (29, 35, 260), (50, 70, 33), (290, 280, 256)]:
        a = rng.normal(size=(m, k)).astype(linked and ("f4" if dtype == "f32" else "f8"))
        b = rng.normal(size=(k, n)).astype(a.dtype)
        want = a.astype("f8") @ b
        for ta, tb, at_end in itertools.product((0, 1), (0, 1), (False, True)):
            x, y = fenced(a.T if ta else a, at_end), fenced(b.T if tb else b, at_end)
            c = fenced(np.zeros((m, n), a.dtype), at_end)
            function(m, n, k, x.ctypes.data, x.shape[1], ta, y.ctypes.data, y.shape[1], tb, c.ctypes.data, n)
            assert np.allclose(c, want, rtol=1e-3, atol=1e-3)
            del x, y, c
print("inside")
"""


def test_nothing_is_touched_beyond_the_first_and_last_element():
    """Operands that begin and end at pages that cannot be read; a process of its own, because a fault ends it."""
    done = subprocess.run([sys.executable, "-c", _AT_THE_EDGE], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "inside" in done.stdout, (done.returncode, done.stderr[-2000:])


@DTYPES
def test_bits_do_not_depend_on_threads(dtype, rng):
    kind, function, before = TYPES[dtype], _pooled(dtype), threads.get_num_threads()
    cases = [(300, 600, 520), (8, 1500, 700), (700, 20, 600)]
    try:
        for m, n, k in cases:
            a, b = rng.normal(size=(m, k)).astype(kind), rng.normal(size=(k, n)).astype(kind)
            want = _multiply(_function(_alone(dtype, 256), dtype), a, b).tobytes()
            for count, (ta, tb) in itertools.product((1, 2, 5), TURNS):
                threads.set_num_threads(count)
                got = _multiply(function, _stored(a, ta), _stored(b, tb), ta, tb)
                assert got.tobytes() == want, (m, n, k, count, ta, tb)
    finally:
        threads.set_num_threads(before)


@DTYPES
@pytest.mark.parametrize(("batch", "m", "n", "k"), [(1, 5, 6, 7), (70, 9, 20, 11), (1000, 4, 4, 4), (3, 130, 140, 260)])
def test_a_batch_is_its_products(dtype, batch, m, n, k, rng):
    kind, function, one = TYPES[dtype], _pooled(dtype, BATCH), _pooled(dtype)
    a = rng.normal(size=(batch, m, k)).astype(kind)
    b = rng.normal(size=(batch, k, n)).astype(kind)
    for ta, tb, shared in itertools.product((0, 1), (0, 1), (False, True)):
        left = np.ascontiguousarray(a.swapaxes(1, 2) if ta else a)
        right = np.ascontiguousarray(b.swapaxes(1, 2) if tb else b)
        c = np.full((batch, m, n), np.nan, kind)
        step = 0 if shared else k * n
        assert function(batch, m, n, k, left.ctypes.data, left.shape[2], ta, m * k, right.ctypes.data, right.shape[2],
                        tb, step, c.ctypes.data, n, m * n) == 0
        for i in {0, batch // 2, batch - 1}:
            assert c[i].tobytes() == _multiply(one, left[i], right[0 if shared else i], ta, tb).tobytes()
    assert function(0, m, n, k, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0) == 0


@DTYPES
def test_threads_of_python_multiply_at_the_same_time(dtype, rng):
    kind, function = TYPES[dtype], _pooled(dtype)
    sides = [rng.normal(size=size).astype(kind) for _ in range(KEPT + 3) for size in ((90, 300), (300, 80))]
    pairs = list(zip(sides[::2], sides[1::2], strict=True))
    want = [_multiply(function, a, b).tobytes() for a, b in pairs]
    wrong = []

    def work(i: int) -> None:
        wrong.extend(i for _ in range(30) if _multiply(function, *pairs[i]).tobytes() != want[i])

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(pairs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_memory_is_kept(rng):
    """No page fault once a product has been done: what it packs into is its own, and stays."""
    function = _function(_alone("f64", 256), "f64")
    a, b = rng.normal(size=(60, 256)), rng.normal(size=(256, 256))
    c = np.zeros((60, 256))

    def again() -> None:
        function(60, 256, 256, a.ctypes.data, 256, 0, b.ctypes.data, 256, 0, c.ctypes.data, 256)

    for _ in range(3):
        again()
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(50):
        again()
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
    assert faults < 512 * 1024 // mmap.PAGESIZE


# What the functions call, to look at what they do with its answers.
_POOL = """
@regions = global i64 0
@polls = global i64 0
@given = global i64 0
@fails = global i64 -1
@stops = global i64 -1
@freed = global i64 0

declare ptr @malloc(i64)
declare void @free(ptr)

define i64 @fake_parallel(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report) {
  %n = load i64, ptr @regions
  %next = add i64 %n, 1
  store i64 %next, ptr @regions
  %fails = load i64, ptr @fails
  %now = icmp eq i64 %n, %fails
  br i1 %now, label %fail, label %loop
fail:
  ret i64 -2
loop:
  %i = phi i64 [%chunks, %0], [%chunk, %loop]
  %chunk = sub i64 %i, 1
  %status = call i64 %body(ptr %frame, i64 %chunk, ptr %report)
  %more = icmp ne i64 %chunk, 0
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}

define i64 @fake_poll() {
  %n = load i64, ptr @polls
  %next = add i64 %n, 1
  store i64 %next, ptr @polls
  %stops = load i64, ptr @stops
  %now = icmp eq i64 %n, %stops
  %status = select i1 %now, i64 -2, i64 0
  ret i64 %status
}

define ptr @fake_malloc(i64 %size) {
  %n = load i64, ptr @given
  %next = add i64 %n, 1
  store i64 %next, ptr @given
  %empty = icmp slt i64 %n, 0
  br i1 %empty, label %none, label %some
none:
  ret ptr null
some:
  %block = call ptr @malloc(i64 %size)
  ret ptr %block
}

define void @fake_free(ptr %block) {
  %n = load i64, ptr @freed
  %next = add i64 %n, 1
  store i64 %next, ptr @freed
  call void @free(ptr %block)
  ret void
}
"""
_COUNTERS = ("regions", "polls", "given", "fails", "stops", "freed")


class Watched:
    """The functions over a pool and an allocator that count, and fail when told to."""

    def __init__(self, dtype: str) -> None:
        names = [f"fake_{name}" for name in ("parallel", "poll", "malloc", "free")]
        self.pool = link(machine.compile_object(_POOL), process.allocator_symbols(), [*names, *_COUNTERS])
        symbols = {name: self.pool.address(f"fake_{name}") for name in ("malloc", "free")}
        symbols |= {f"pullback_{name}": self.pool.address(f"fake_{name}") for name in ("parallel", "poll")}
        symbols["memset"] = process.allocator_symbols()["memset"]
        sizes = shape(dtype, 256)
        objects = machine.compile_object("\n".join([tiles(sizes), copies(sizes), text(sizes, parallel=True)]), 1)
        self.linked = link(objects, symbols, (single(dtype),))
        self.function, self.kind = _function(self.linked, dtype), TYPES[dtype]

    def __getitem__(self, name: str) -> int:
        return ctypes.c_int64(process.read_word(self.pool.address(name))).value

    def __setitem__(self, name: str, value: int) -> None:
        process.write_words(self.pool.address(name), [value % 2**64])

    def run(self, m: int, n: int, k: int) -> int:
        a, b, c = np.ones((m, k), self.kind), np.ones((k, n), self.kind), np.zeros((m, n), self.kind)
        status = self.function(m, n, k, a.ctypes.data, k, 0, b.ctypes.data, n, 0, c.ctypes.data, n)
        assert status or np.all(c == k)
        return status


@DTYPES
def test_an_interrupt_ends_a_product_and_memory_is_given_back(dtype):
    watched = Watched(dtype)
    assert watched.run(200, 600, 600) == 0
    regions, polls = watched["regions"], watched["polls"]
    assert watched["given"] == 1 and polls > 3 and regions > polls
    for counter, trigger, count in (("regions", "fails", regions), ("polls", "stops", polls)):
        for at in range(count):
            watched[counter], watched[trigger] = 0, at
            assert watched.run(200, 600, 600) == -2
        watched[trigger] = -1
    assert watched.run(200, 600, 600) == 0
    assert watched["given"] == 1 and watched["freed"] == 0


def test_without_memory_a_product_fails():
    watched = Watched("f64")
    watched["given"] = -1
    assert watched.run(20, 30, 40) == -1
    assert watched.run(20, 30, 40) == 0


def test_functions_are_compiled_once_for_each_width():
    with settings.override(vector_bits=256):
        first = gemm.symbols("f32")
        assert gemm.symbols("f32") == first and set(first) == {"pullback_gemm_f32", "pullback_gemm_batch_f32"}
    with settings.override(vector_bits=128):
        assert gemm.symbols("f32") != first
    assert len(gemm.symbols()) == 4


def test_which_products_are_ours_depends_on_sizes_and_processor_only():
    wide = processor.vector_bits() >= 256 and processor.has_fma()
    assert gemm.prefers(128, 128, 128) is wide
    assert not gemm.prefers(1, 128, 128) and not gemm.prefers(128, 1, 128)
    assert gemm.prefers(1, 128, 128, blas=False)
    for bits in (128, 256, 512):
        with settings.override(vector_bits=bits):
            assert gemm.prefers(64, 64, 64) is wide


def test_code_is_read_from_the_disk_the_second_time(tmp_path, monkeypatch):
    module = tiles(shape("f32", 128))
    with settings.override(cache="1", cache_dir=str(tmp_path)):
        made = gemm.cache.kept_object(module, 0)
        monkeypatch.setattr(gemm.cache, "compile_object", lambda *_: pytest.fail("compiled again"))
        assert gemm.cache.kept_object(module, 0) == made
