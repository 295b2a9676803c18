"""Texts that are no graphs."""

from typing import Any

from pullback import parse

HEAD = "graph @f(%x: f64[3]) {\n"


def body(*lines: str) -> Any:
    return lambda: parse(HEAD + "".join(f"  {line}\n" for line in lines) + "}")


CASES = {
    "nothing": lambda: parse(""),
    "no graph": lambda: parse("hello"),
    "no name": lambda: parse("graph (%x: f64[]) {\n  return %x\n}"),
    "no bracket": lambda: parse("graph @f(%x: f64[]) {\n  return %x\n"),
    "no return": body("%0: f64[3] = sin %x"),
    "no such type": lambda: parse("graph @f(%x: f65[]) {\n  return %x\n}"),
    "no such value": body("%0: f64[3] = sin %y", "return %0"),
    "no such operation": body("%0: f64[3] = sinus %x", "return %0"),
    "a value twice": body("%0: f64[3] = sin %x", "%0: f64[3] = sin %x", "return %0"),
    "another type": body("%0: f64[4] = sin %x", "return %0"),
    "too few operands": body("%0: f64[3] = add %x", "return %0"),
    "too many operands": body("%0: f64[3] = sin %x, %x", "return %0"),
    "an attribute missing": body("%0: f64[] = sum %x", "return %0"),
    "an attribute too many": body("%0: f64[3] = sin %x {axes=(0,)}", "return %0"),
    "an attribute of code": body("%0: f64[] = sum %x {axes=__import__('os')}", "return %0"),
    "an axis beyond": body("%0: f64[] = sum %x {axes=(1,)}", "return %0"),
    "a return of what is not there": body("return %y"),
    "an equals sign missing": body("%0: f64[3] sin %x", "return %0"),
    "more after the end": lambda: parse("graph @f(%x: f64[]) {\n  return %x\n}\nmore"),
    "no text": lambda: parse(3),  # type: ignore[arg-type]
}
