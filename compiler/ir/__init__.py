"""The graph: typed values in running order, and nothing that changes.

This floor knows types, values, operations, regions and their text.  It does not know any primitive: a
primitive tells it, through `ir.primitive.Primitive`, what it needs to hold, print, check and run one.

    graph @loss(%w: f64[5,3], %x: f64[5]) {
      %0: f64[3] = contract %x, %w {batch=(), left=(0,), right=(0,)}  # train.py:12
      %1: f64[3] = tanh %0                                            # train.py:12
      %2: f64[] = sum %1 {axes=(0,)}                                  # train.py:13
      return %2
    }
"""
