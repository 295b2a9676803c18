"""LLVM text of how a function of an extension module binds arguments given by position and by name.

A call with as many positional arguments as the function has never comes here.
"""

from __future__ import annotations

TEXT = """
; Arguments by position and by name, in the order of the names, which are said by the places of their objects.
define internal i1 @.bind(ptr %args, i64 %count, ptr %kwnames, ptr %names, i64 %wanted, ptr %bound, ptr %function,
                         ptr %signature, ptr %state) nounwind noinline {
entry:
  %plain = icmp eq ptr %kwnames, null
  br i1 %plain, label %counted, label %ask
ask:
  %given = call i64 @PyTuple_Size(ptr %kwnames)
  br label %counted
counted:
  %named = phi i64 [ 0, %entry ], [ %given, %ask ]
  %type_error = load ptr, ptr @PyExc_TypeError
  %total = add i64 %count, %named
  %many = icmp sgt i64 %count, %wanted
  br i1 %many, label %too_many, label %place
too_many:
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type_error, ptr @.too_many, ptr %function, ptr %signature, i64 %total)
  ret i1 false
place:
  %position = phi i64 [ 0, %counted ], [ %position_next, %put ]
  %all_placed = icmp eq i64 %position, %wanted
  br i1 %all_placed, label %words, label %put
put:
  %from = getelementptr ptr, ptr %args, i64 %position
  %into = getelementptr ptr, ptr %bound, i64 %position
  %is_given = icmp slt i64 %position, %count
  %chosen = select i1 %is_given, ptr %from, ptr @.nothing
  %value = load ptr, ptr %chosen
  store ptr %value, ptr %into
  %position_next = add i64 %position, 1
  br label %place
words:
  %word = phi i64 [ 0, %place ], [ %word_next, %store ]
  %all_words = icmp eq i64 %word, %named
  br i1 %all_words, label %check, label %name
name:
  %text = call ptr @PyTuple_GetItem(ptr %kwnames, i64 %word)
  br label %find
find:
  %at = phi i64 [ 0, %name ], [ %at_next, %differs ]
  %past = icmp eq i64 %at, %wanted
  br i1 %past, label %unknown, label %compare
compare:
  %known_place = getelementptr i64, ptr %names, i64 %at
  %known_offset = load i64, ptr %known_place
  %known_slot = getelementptr i8, ptr %state, i64 %known_offset
  %known = load ptr, ptr %known_slot
  %order = call i32 @PyUnicode_Compare(ptr %text, ptr %known)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %found, label %differs
differs:
  %at_next = add i64 %at, 1
  br label %find
unknown:
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type_error, ptr @.no_argument, ptr %function, ptr %signature, ptr %text)
  ret i1 false
found:
  %target = getelementptr ptr, ptr %bound, i64 %at
  %before = load ptr, ptr %target
  %fresh = icmp eq ptr %before, null
  br i1 %fresh, label %store, label %twice
twice:
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type_error, ptr @.twice, ptr %function, ptr %signature, ptr %text)
  ret i1 false
store:
  %after = add i64 %count, %word
  %source = getelementptr ptr, ptr %args, i64 %after
  %argument = load ptr, ptr %source
  store ptr %argument, ptr %target
  %word_next = add i64 %word, 1
  br label %words
check:
  %last = phi i64 [ 0, %words ], [ %last_next, %present ]
  %complete = icmp eq i64 %last, %wanted
  br i1 %complete, label %done, label %present_or_not
present_or_not:
  %slot = getelementptr ptr, ptr %bound, i64 %last
  %there = load ptr, ptr %slot
  %last_next = add i64 %last, 1
  %is_there = icmp ne ptr %there, null
  br i1 %is_there, label %present, label %lacking
present:
  br label %check
lacking:
  %lacking_place = getelementptr i64, ptr %names, i64 %last
  %lacking_offset = load i64, ptr %lacking_place
  %lacking_slot = getelementptr i8, ptr %state, i64 %lacking_offset
  %lacking_name = load ptr, ptr %lacking_slot
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type_error, ptr @.lacking, ptr %function, ptr %signature,
                                         ptr %lacking_name)
  ret i1 false
done:
  ret i1 true
}

@.nothing = private constant ptr null
"""
