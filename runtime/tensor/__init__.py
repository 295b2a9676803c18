"""The Tensor: PyTorch's define-by-run face over recorded graphs.

    recorder     native code: the layout of objects, and calls that are recognised and noted without Python
    value        cells, dtypes, views: what a tensor is
    trace        recording: the tape, its states, and how traces are run
    calls        calls that are recognised
    reverse      the gradient graph, and backward
    ops          the operations
    transforms   vmap, func, forward mode, Jacobians
    face         the class with its methods, and PyTorch's names
"""
