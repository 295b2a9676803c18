"""Why a call of Tensors was not replayed goes in; what to write instead comes out."""

CURE = "it ran op by op, with the same result; a call with the same kinds of arguments may be recognised later"
"""What is said where no better way is known."""

CURES = {
    "changes an argument": "return the new tensor instead, or write to it outside of the function",
    "does not hand a number on to an operation": "pass a 0-dimensional tensor, or decide by the number outside",
    "has a slice with bounds that are no ints": "write them as int(n)",
    "returns what shares memory with NumPy": "return a clone() of it",
    "writes where tensors share memory": "write to a clone()",
    "writes to a tensor whose memory or history others share": "write to a clone()",
    "returns what is not computed from its arguments": "pass what it reads as an argument",
}
