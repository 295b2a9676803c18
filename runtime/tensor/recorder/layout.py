"""Where the fields of the recorder's objects are, and the words that say what a call needs and gives.

Every object starts with the interpreter's two words, a reference count and a type. Offsets are in bytes, fields are
words of eight bytes: integers, or addresses of objects (0 where there is none yet).

What a call needs and what it gives are bytes of whole descriptors; a descriptor is four words: a tag, a, b and c.
What `linear(x, w)` needs where x and w are read for the first time (as values 0 and 1), and its result (value 3):

    INPUT 0 <Kind f32[32,64]> 0      INPUT 1 <Kind f32[64,64]> LEAF
    RESULT 3 <Kind f32[32,64]> HISTORY
"""

from __future__ import annotations

import struct


class Tensor:
    """A tensor. Without a cell it is *late*: value NUMBER of the trace SERIAL, and nothing else has been made. Where it
    was that when the trace ended, RECORD says what the trace was, and PLACE which value."""

    SERIAL, NUMBER, FLAGS, WRITTEN = 16, 24, 32, 40
    CELL, NODE, GRAD, STORAGE, KIND, DICT, WEAK, RECORD, PLACE = range(48, 120, 8)
    SIZE = 120
    OBJECTS = (CELL, NODE, GRAD, STORAGE, KIND, DICT, RECORD)


class Cell:
    """A value: the number that it has on a trace, its kind, and its array when it has been computed. Where a tensor
    has been written to since, STALE is the version that it had then. CHECKED says what its elements are known to be.
    HOME is the memory whose value it is, in its VERSION. LAYOUT is the address of that of its array, if a kernel made
    it for the cell."""

    SERIAL, NUMBER, STALE, VERSION, KIND, ARRAY, CHECKED, HOME, WEAK, LAYOUT = range(16, 96, 8)
    SIZE = 96
    OBJECTS = (KIND, ARRAY, CHECKED, HOME)


class State:
    """A prefix of traces. CALL with its fields is the event that led here from the parent; FIRST is the newest child,
    SIBLING the parent's child before this one. Traces that ended here were run RUNS times as PLAN says."""

    VALUES, COUNT, MODE = 16, 24, 32
    FIRST, SIBLING, CALL, NAMES, NEEDS, GIVES, KEEP, INFO, PLAN, LIVE = range(40, 120, 8)
    RUNS = 120
    SIZE = 128
    OBJECTS = (FIRST, SIBLING, CALL, NAMES, NEEDS, GIVES, KEEP, INFO, PLAN, LIVE)


class Recorded:
    """A function whose calls are recognised, and what is called where one is not. PATTERN is the newest of the states
    that say what its calls do wherever they stand."""

    VECTORCALL, FUNCTION, SLOW, PATTERN = 16, 24, 32, 40
    SIZE = 48
    OBJECTS = (FUNCTION, SLOW, PATTERN)


class Tape:
    """The trace that a thread records: the state it is in, and tables with ROOM for its tensors, numbers and cells. Up
    to the state CAUGHT all tensors have what they need for backward.

    NOTES are words on calls that came after the state, which no state follows yet: NOTED of them, with room for PAGE.
    """

    SERIAL, COUNT, MODE, DEPTH, OWNER = 16, 24, 32, 40, 48
    STATE, ROOT, SPECIAL, CAUGHT, VALUES, CELLS, ROOM, NOTES, NOTED, PAGE = range(56, 136, 8)
    SIZE = 136
    OBJECTS = (STATE, ROOT, SPECIAL, CAUGHT)


class Search:
    """One search for a call among those recorded: the tape, a special tensor that it met, how many tensors the call
    may make if there are too few spare ones, and the special tensors that Python has looked at.

    Of a call that is compared with a pattern, too: the number that what it reads next would get, the first number of
    its own, how many tensors and numbers were met, the numbers of those tensors, which values they are again (or FIRST,
    or THERE for those that stood on the trace), and the objects of those numbers.
    """

    TAPE, MET, SHORT, COUNT, CHECKED = range(0, 40, 8)
    LIMIT = 24
    NEXT, BASE, TENSORS, NUMBERS = range(CHECKED + 8 * LIMIT, CHECKED + 8 * LIMIT + 32, 8)
    MOST, FEW = 32, 8
    ARGUMENTS = NUMBERS + 8
    AGAIN = ARGUMENTS + 8 * MOST
    OBJECTS = AGAIN + 8 * MOST
    CODE = OBJECTS + 8 * FEW
    INSTRUCTION = CODE + 8
    WORDS = INSTRUCTION // 8 + 1
    FIRST, THERE = -1, -2


LEAF, SPECIAL, HOOKED, HISTORY, VIEWED, PART, SHARED, OPEN, DENSE = 1, 2, 4, 8, 16, 32, 64, 128, 256
"""Bits of a tensor's flags: it requires a gradient of its own; there is more to it than these fields; hooks wait for
its gradient; it has a node, which is late; there may be views of it; it is a view of memory that only it has seen;
NumPy may write to its memory; it was made as a late view whose elements follow each other in memory. SHARED stands in
descriptors only: others may have its memory. What a call needs to know of a tensor are LEAF, HOOKED, HISTORY, SHARED
and OPEN, its *class*."""

BOUND = 8192
"""A trace with so many values is run, so that memory stays bounded."""

DESCRIPTOR = 32
"""Bytes of a descriptor."""


class Need:
    """Tags of what a call needs, the arguments' first.

    STATIC    a = address of an object     this object, or one that is equal to it
    VALUE     a, c = class                 the tensor that is value a
    INPUT     a, b = address of a kind, c = class
                                           a computed tensor that is not on the trace; it becomes value a
    NUMBER    a, b = address of a type, c = range
                                           a number; it becomes value a
    SEQUENCE  a = address of a type, b = length
                                           a tuple, list or slice; descriptors of the items follow
    GRAD      a, b = LEAF and HOOKED of it the gradient that value a holds is what the next descriptor says, and
                                           whether it requires one still, and hooks wait for it
    ALIAS     a, b, c = class              another tensor with the cell of value b; it becomes value a
    CHECK     a, b = address of an object  the cell of value a has been checked for this
    STILL     a                            the tensor that is value a has the same memory still, and NumPy wrote nothing
                                           to it

    In patterns, where arguments are counted, tensors and numbers each by themselves:

    ANY       a, b = address of a kind, c = class
                                           tensor a, which is on the trace or computed, and none of those before
    SAME      a                            tensor a once more
    SOME      a, b = address of a type, c = range
                                           number a
    TESTED    a, b = address of an object  the cell of tensor a has been checked for this

    Among either, after the arguments:

    BETWEEN   a, b, c = bits of floats     b <= the float that is value a, or number a of a pattern, <= c
    APART     a, b = c = bits of a float   that float is another one
    """

    STATIC, VALUE, INPUT, NUMBER, SEQUENCE, GRAD, ALIAS, CHECK = range(8)
    ANY, SAME, SOME, TESTED, BETWEEN, APART, STILL = range(8, 15)


class Range:
    """What a NUMBER must fit into."""

    ANY, I32, I64, F32, F64, BOOL = range(6)


class Give:
    """Tags of what a call gives. The first descriptors say what it returns.

    RESULT    a, b = address of a kind, c = flags      a new tensor, value a
    VALUE     a                                        the tensor that stands at value a
    NONE                                               None
    TUPLE     a = address of tuple, list or a function of a tuple, b = length; items follow
    ASSIGN    a, b, c = address of a kind              the tensor that was value a has been written to and is value b
    PUT_GRAD  a, b, c = address of a kind              value b, made if it is not there, is the gradient of value a
    VIEWED    a                                        there may be views of the tensor that is value a
    RENEW     a, b, c = address of a kind              ASSIGN, and what has a history then is value b alone

    In patterns values of the call's own are counted from 0, and -1 - k is tensor k.
    """

    RESULT, VALUE, NONE, TUPLE, ASSIGN, PUT_GRAD, VIEWED, RENEW = range(8)


class Source:
    """Tags of where a kernel's inputs come from; c is the address of a layout, of which see `replay`.

    CELL      a                          the array of the cell of value a
    CONSTANT  a = address of an array
    NUMBER    a, b = Range of a dtype    the Python number that is value a
    """

    CELL, CONSTANT, NUMBER = range(3)


def words(*descriptors: tuple[int, ...]) -> bytes:
    """Descriptors as bytes.

    >>> len(words((Give.RESULT, 3), (Give.VIEWED, 0)))
    64
    """
    return b"".join([struct.pack("<4q", *(*each, 0, 0, 0)[:4]) for each in descriptors])
