"""Capture: Python's control flow and stores, as they are written, become regions of the graph.

An evaluator of our own walks the syntax tree of the function. Concrete values stay Python values, and run as Python;
traced ones are the frontend's Arrays, so that NumPy's face is that of a plain trace. A branch or loop on a traced
value runs its arms or its body on copies of the state and joins what differs. Nothing is rewritten or run twice.

    source       which functions are walked, and their syntax trees;  walk  from arguments to results
    values       what names can hold;  frames, machine  names and heap, which are the state; aliases and views are seen
    schema       how places look and how two looks are joined;  edges  what carries them across;  ranges  of integers
    regions      branches;  roll  loops
    syntax       statements, expressions, loops and comprehensions
    numbers      what operators mean;  arrays  subscripts, views and stores;  selections  what a mask selects
    containers   lists, tuples and dicts, lists that grow in loops, and what `for` runs over
    calls, library, python, mathematics, prelude                  functions: the user's, NumPy's, Python's

    @pullback.grad                      graph @root(%x: f64[]) {
    def root(x):                          %1: f64[], %2: i64[] = loop %x, %x {carries=1}
        y = x                                 | @body(%k: i64[], %y: f64[], %0: f64[]) { ... }
        while abs(y * y - x) > 1e-12:         | @test(%y: f64[], %0: f64[]) { ... }
            y = 0.5 * (y + x / y)         return %1
        return y                        }

Where a function has no regions (a list whose length depends on values, a generator) it is walked once more with the
values of one call at hand: every decision is then taken by them, under a guard.
"""
