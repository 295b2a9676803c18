"""LLVM text of how memories that overlap are told apart, and what becomes of results whose place is taken.

A table has a word for scratch memory, the pointers of results and then of inputs, and once more those of results as
they were given.  Kernels take for granted that what they write is nobody else's; so a result whose place overlaps an
input goes to scratch memory first.
"""

from __future__ import annotations

from ..disk.cache import kept_object
from ..linking.module import Linked, link
from ..once import once
from ..process import allocator_symbols

_EXPORTED = ("place", "settle")
_ALLOCATOR = ("malloc", "free", "memcpy")

_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)

define internal i64 @room(i64 %size) nounwind {
entry:
  %more = add i64 %size, 63
  %lines = and i64 %more, -64
  ret i64 %lines
}

; Give scratch memory to results that overlap inputs; 0 if two results overlap, or without memory.
define i1 @place(ptr %table, ptr %sizes, i64 %outs, i64 %all) nounwind {
entry:
  store ptr null, ptr %table
  %pointers = getelementptr i8, ptr %table, i64 8
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %next_i, %done ]
  %total = phi i64 [ 0, %entry ], [ %new_total, %done ]
  %more_outs = icmp ult i64 %i, %outs
  br i1 %more_outs, label %take, label %placed
take:
  %p_place = getelementptr i64, ptr %pointers, i64 %i
  %p = load i64, ptr %p_place
  %n_place = getelementptr i64, ptr %sizes, i64 %i
  %n = load i64, ptr %n_place
  %next_i = add i64 %i, 1
  br label %others
others:
  %j = phi i64 [ %next_i, %take ], [ %next_j, %compared ]
  %more = icmp ult i64 %j, %all
  br i1 %more, label %compare, label %apart
compare:
  %q_place = getelementptr i64, ptr %pointers, i64 %j
  %q = load i64, ptr %q_place
  %m_place = getelementptr i64, ptr %sizes, i64 %j
  %m = load i64, ptr %m_place
  %after = sub i64 %q, %p
  %before = sub i64 %p, %q
  %inside = icmp ult i64 %after, %n
  %around = icmp ult i64 %before, %m
  %met = or i1 %inside, %around
  br i1 %met, label %taken, label %compared
compared:
  %next_j = add i64 %j, 1
  br label %others
taken:
  %another = icmp ult i64 %j, %outs
  br i1 %another, label %refuse, label %mark
mark:
  store i64 0, ptr %p_place
  %lines = call i64 @room(i64 %n)
  %larger = add i64 %total, %lines
  br label %done
apart:
  br label %done
done:
  %new_total = phi i64 [ %larger, %mark ], [ %total, %apart ]
  br label %each
placed:
  %none = icmp eq i64 %total, 0
  br i1 %none, label %ready, label %allocate
allocate:
  %whole = add i64 %total, 64
  %block = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %refuse, label %start
start:
  store ptr %block, ptr %table
  %address = ptrtoint ptr %block to i64
  %first = call i64 @room(i64 %address)
  br label %give
give:
  %k = phi i64 [ 0, %start ], [ %next_k, %given ]
  %at = phi i64 [ %first, %start ], [ %new_at, %given ]
  %some = icmp ult i64 %k, %outs
  br i1 %some, label %look, label %ready
look:
  %k_place = getelementptr i64, ptr %pointers, i64 %k
  %its = load i64, ptr %k_place
  %next_k = add i64 %k, 1
  %needs = icmp eq i64 %its, 0
  br i1 %needs, label %put, label %keep
put:
  store i64 %at, ptr %k_place
  %k_size_place = getelementptr i64, ptr %sizes, i64 %k
  %k_size = load i64, ptr %k_size_place
  %k_lines = call i64 @room(i64 %k_size)
  %further = add i64 %at, %k_lines
  br label %given
keep:
  br label %given
given:
  %new_at = phi i64 [ %further, %put ], [ %at, %keep ]
  br label %give
ready:
  ret i1 1
refuse:
  ret i1 0
}

; Copy what is in scratch memory to where it belongs, if `copy`, and free the memory.
define void @settle(ptr %table, ptr %sizes, i64 %outs, i64 %all, i1 %copy) nounwind {
entry:
  %block = load ptr, ptr %table
  %none = icmp eq ptr %block, null
  br i1 %none, label %leave, label %start
start:
  store ptr null, ptr %table
  br i1 %copy, label %each, label %release
each:
  %k = phi i64 [ 0, %start ], [ %next, %done ]
  %more = icmp ult i64 %k, %outs
  br i1 %more, label %look, label %release
look:
  %word = add i64 %k, 1
  %now_place = getelementptr ptr, ptr %table, i64 %word
  %now = load ptr, ptr %now_place
  %behind = add i64 %word, %all
  %wanted_place = getelementptr ptr, ptr %table, i64 %behind
  %wanted = load ptr, ptr %wanted_place
  %next = add i64 %k, 1
  %there = icmp eq ptr %now, %wanted
  br i1 %there, label %done, label %move
move:
  %size_place = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %size_place
  %same = call ptr @memcpy(ptr %wanted, ptr %now, i64 %size)
  br label %done
done:
  br label %each
release:
  call void @free(ptr %block)
  br label %leave
leave:
  ret void
}
"""


@once
def _module() -> Linked:
    """In memory once for the process, from the first `out=` on: its loops are worth the better code."""
    allocator = allocator_symbols()
    return link(kept_object(_TEXT, 2), {name: allocator[name] for name in _ALLOCATOR}, _EXPORTED)


def address(name: str) -> int:
    """The address of one of the functions."""
    return _module().address(name)
