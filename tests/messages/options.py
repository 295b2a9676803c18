"""Options of transforms that do not exist, or name what is not there."""

from typing import Any

import numpy as np

import pullback
from pullback import check, custom_vjp, external, grad, jacobian, jit, scan, vmap
from pullback.compiler.settings import settings

ANY: Any = pullback
V = np.ones(3)


def loss(w: Any, x: Any) -> Any:
    return np.sum(w * x)


def setting(**given: Any) -> Any:
    return lambda: settings.override(**given).__enter__()


CASES = {
    "grad of a number": lambda: ANY.grad(3),
    "jit of a list": lambda: ANY.jit([1]),
    "hessian of None": lambda: ANY.hessian(None),
    "jacobian of no function": lambda: ANY.jacobian("f"),
    "vmap of a number": lambda: ANY.vmap(3),
    "check of a number": lambda: ANY.check(3, V),
    "unknown option of grad": lambda: ANY.grad(loss, arg=0),
    "argnums beyond": lambda: grad(loss, argnums=2)(V, V),
    "argnums negative": lambda: grad(loss, argnums=-3)(V, V),
    "argnums by an unknown name": lambda: grad(loss, argnums="z")(V, V),
    "argnums of a float": lambda: ANY.grad(loss, argnums=1.5),
    "argnums twice": lambda: grad(loss, argnums=(0, 0)),
    "argnums by name and number": lambda: grad(loss, argnums=(0, "w"))(V, V),
    "argnums empty": lambda: grad(loss, argnums=()),
    "argnums of a static argument": lambda: grad(loss, argnums=1, static_argnums=1)(V, 2.0),
    "static_argnums beyond": lambda: jit(loss, static_argnums=2),
    "static_argnums negative": lambda: jit(loss, static_argnums=-3),
    "static_argnums of a text": lambda: ANY.jit(loss, static_argnums="x"),
    "static_argnames of a number": lambda: ANY.jit(loss, static_argnames=1),
    "static_argnames unknown": lambda: jit(loss, static_argnames="z"),
    "sizes misspelt": lambda: ANY.jit(loss, sizes="sttic"),
    "sizes of a number": lambda: ANY.jit(loss, sizes=3),
    "sizes of an unknown argument": lambda: jit(loss, sizes={"xs": ("n",)}),
    "sizes of a part that is not there": lambda: jit(lambda p: p["a"], sizes={"p['b']": ("n",)})({"a": V}),
    "sizes of another rank": lambda: jit(loss, sizes={"x": ("n", 3)})(V, V),
    "sizes of another number": lambda: jit(loss, sizes={"x": (4,)})(V, V),
    "sizes that disagree": lambda: jit(lambda a, b: (a, b), sizes={"a": ("n",), "b": ("n",)})(V, np.ones(4)),
    "sizes that are a list": lambda: ANY.jit(loss, sizes={"x": ["n"]}),
    "sizes with a bad name": lambda: jit(loss, sizes={"x": ("1n",)}),
    "max_memory of nothing": lambda: grad(loss, max_memory=0),
    "max_memory of a word": lambda: grad(loss, max_memory="much"),
    "max_memory of a float": lambda: ANY.grad(loss, max_memory=1.5),
    "has_aux without aux": lambda: grad(loss, has_aux=True)(V, V),
    "has_aux of three": lambda: grad(lambda x: (x, x, x), has_aux=True)(1.0),
    "a vector to differentiate": lambda: grad(lambda x: x * 2.0)(V),
    "an int to differentiate": lambda: grad(lambda x: np.sum(x > 0.0))(V),
    "a tuple to differentiate": lambda: grad(lambda x: (x, x))(1.0),
    "None to differentiate": lambda: grad(lambda x: None)(1.0),
    "a text to differentiate": lambda: grad(lambda x: "a")(1.0),
    "a complex to differentiate": lambda: grad(lambda x: x * 1j)(1.0),
    "jacobian of a text": lambda: jacobian(lambda x: "a")(V),
    "sparse with a wrong pattern": lambda: jacobian(lambda x: x, sparse=True, pattern=np.ones((2, 2)))(V),
    "vmap with an unknown option": lambda: ANY.vmap(loss, axis=0),
    "vmap of a result without lanes": lambda: vmap(lambda x: x, out_axes=5)(V),
    "a stage that is none": lambda: jit(loss).ir("grph", V, V),
    "a stage before a call": lambda: jit(loss).ir(),
    "register a number": lambda: ANY.register(3, len, len),
    "register a dict": lambda: ANY.register(dict, len, len),
    "register without functions": lambda: ANY.register(type("Case", (), {}), 3, len),
    "custom_vjp without rules": lambda: grad(custom_vjp(lambda x: x * 2.0))(1.0),
    "custom_vjp of another count": lambda: grad(ruled(lambda kept, ct: (ct, ct)))(1.0),
    "custom_vjp without a tuple": lambda: grad(ruled(lambda kept, ct: ct))(1.0),
    "custom_vjp of another shape": lambda: grad(lambda x: np.sum(ruled(lambda kept, ct: (ct[:2],))(x)))(V),
    "external without a derivative": lambda: grad(external(lambda x: x, float))(1.0),
    "external of another result": lambda: jit(external(lambda x: "a", float))(1.0),
    "external with two derivatives": lambda: external(lambda x: x, float, vjp=lambda *a: a, differences=True),
    "implicit of a number": lambda: ANY.implicit(3),
    "a carry that changes": lambda: jit(lambda x: scan(lambda c, _: (np.stack([c, c]), None), x, None, length=2))(1.0),
    "a scan without a length": lambda: jit(lambda x: scan(lambda c, _: (c, None), x, None))(1.0),
    "a check that fails": lambda: check(ruled(lambda kept, ct: (3.0 * ct,)), 1.0),
    "an unknown setting": setting(levle=1),
    "a level that is none": setting(level=9),
    "a stage to dump that is none": setting(dump="grph"),
    "threads that are none": setting(num_threads=-1),
    "threads of a text": lambda: ANY.set_num_threads("two"),
    "no threads": lambda: ANY.set_num_threads(0),
}


def ruled(rule: Any) -> Any:
    made = custom_vjp(lambda x: x * 2.0)
    made.defvjp(lambda x: (x * 2.0, None), rule)
    return made
