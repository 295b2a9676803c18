"""Memory for large results: used again, placed well, bounded, and NumPy's own for every other array."""

import threading

import numpy as np
from numpy._core.multiarray import get_handler_name

from pullback.compiler.backend import pool

F64 = np.dtype(np.float64)


def made(count):
    return pool.empty((count,), F64, 8 * count)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_and_begins_in_the_middle_of_a_page():
    first = made(100_000)
    first[:] = 1.0
    before = address(first)
    assert before % 4096 == 2048
    del first
    again = made(100_000)
    assert address(again) == before
    other = made(100_000)
    assert address(other) != before


def test_only_large_results_come_from_the_pool():
    assert get_handler_name(made(100_000)) == "pullback"
    assert get_handler_name(made(10)) != "pullback"
    large = made(100_000)
    large[:] = 0.0
    assert get_handler_name(large + 1) != "pullback"
    assert get_handler_name(np.empty(100_000)) != "pullback"
    assert large.flags.owndata and large.flags.writeable


def test_arrays_can_be_resized():
    array = made(50_000)
    array[:] = np.arange(50_000)
    array.resize((90_000,), refcheck=False)
    assert np.all(array[:50_000] == np.arange(50_000)) and np.all(array[50_000:] == 0)
    array[-1] = 3.0
    array.resize((40_000,), refcheck=False)
    assert np.all(array == np.arange(40_000))


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096


def test_what_is_kept_is_bounded():
    """Of six arrays that are dropped together, four fit into what is kept."""
    count, before = pool.KEPT_BYTES // 8 // 4, resident_bytes()
    for _ in range(3):
        arrays = [made(count + k) for k in range(6)]
        for a in arrays:
            a[::512] = 1.0
        del arrays, a
    assert resident_bytes() - before < 1.2 * pool.KEPT_BYTES


def test_many_sizes_from_several_threads(rng):
    sizes = rng.integers(pool.LARGE // 8, 200_000, 300).tolist()
    wrong = []

    def work(mark):
        live = []
        for n in sizes:
            a = made(n)
            a[:] = mark + n
            live.append(a)
            if len(live) > 8:
                old = live.pop(0)
                if not np.all(old == mark + len(old)):
                    wrong.append(n)

    threads = [threading.Thread(target=work, args=(0.5 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
