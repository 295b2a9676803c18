"""The Tensor: PyTorch's define-by-run face over recorded graphs.

    cells, paths, dtypes        values, views, element kinds
    fragments, engine, plans    an operation as a small graph, and how graphs are run
    tape, nodes, core           recording, the gradient graph, the state of a tensor
    arithmetic ... softmax      the functions
    backward, autograd          gradients
    operators, tensor           the class with its methods
    functions                   the functions under PyTorch's names
"""
