"""Functions of tensors to functions of tensors: vmap, func, forward mode, Jacobians."""
