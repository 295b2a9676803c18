"""`torch.utils._pytree`: nested tuples, lists and dicts as a list of leaves and what they hung on, and back.

    leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})       [1, 2, 3] and the shape
    tree_unflatten([10, 20, 30], spec)                       {"a": 10, "b": [20, 30]}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Asked = Callable[[Any], bool] | None
"""Whether something is a leaf though it could be opened."""


class _Node(NamedTuple):
    """How containers of a class are opened, made again of their children, and what they are beside these."""

    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[list[Any], Any], Any]


def of_list(x: Any) -> tuple[list[Any], Any]:
    """The children of a list, and what it is beside them: nothing."""
    return list(x), None


def to_list(values: Iterable[Any], context: Any) -> list[Any]:
    """A list of children."""
    return list(values)


def of_dict(x: dict[Any, Any]) -> tuple[list[Any], Any]:
    """The values of a dict, and its keys."""
    return list(x.values()), list(x)


def to_dict(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    """A dict of values and keys."""
    return dict(zip(context, values, strict=True))


def _named(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")


KNOWN: dict[Any, _Node] = {
    tuple: _Node(lambda x: (list(x), None), lambda children, _: tuple(children)),
    list: _Node(of_list, to_list),
    deque: _Node(lambda x: (list(x), x.maxlen), lambda children, most: deque(children, most)),
    dict: _Node(of_dict, to_dict),
    OrderedDict: _Node(
        lambda x: (list(x.values()), list(x)), lambda children, keys: OrderedDict(zip(keys, children, strict=True))
    ),
    defaultdict: _Node(
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, said: defaultdict(said[0], zip(said[1], children, strict=True)),
    ),
}
_NAMED = _Node(lambda x: (list(x), type(x)), lambda children, cls: cls(*children))


def _node(x: Any) -> _Node | None:
    return _NAMED if _named(type(x)) and type(x) not in KNOWN else KNOWN.get(type(x))


def kind_of(tree: Any) -> Any:
    """The class by which a container is opened."""
    return tuple if _named(type(tree)) and type(tree) not in KNOWN else type(tree)


class TreeSpec:
    """What leaves hung on: the class of the container, what it is beside its children, and theirs."""

    def __init__(self, type: Any, context: Any = None, children: Iterable[TreeSpec] = ()) -> None:
        self.type, self._context, self._children = type, context, list(children)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in self._children)
        self.num_children = len(self._children)

    @property
    def context(self) -> Any:
        """What the container is beside its children: the keys of a dict."""
        return self._context

    def children(self) -> list[TreeSpec]:
        """What the children are."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """What one of them is."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether there is no container at all."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The containers with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What another tree has where the leaves of this one are."""
        if self.type is None:
            return [tree]
        node = _node(tree)
        if node is None or (type(tree) is not self.type and not {type(tree), self.type} <= _DICTS):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if self.type in _DICTS:
            keys = _keys(self)
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {keys!r}, but got {list(tree)!r}.")
            children = [tree[k] for k in keys]
        elif context != self._context:
            raise ValueError(f"Node context mismatch for {self.type!r}; expected {self._context!r}, got {context!r}.")
        return [leaf for spec, each in zip(self._children, children, strict=True) for leaf in spec.flatten_up_to(each)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self._context, self._children) == (
            other.type, other._context, other._children,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_children))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self._context}, {self._children})"


_DICTS: set[Any] = {dict, OrderedDict, defaultdict}


def _keys(spec: TreeSpec) -> list[Any]:
    return spec.context[1] if spec.type is defaultdict else spec.context


def LeafSpec() -> TreeSpec:
    """The shape of a leaf."""
    return TreeSpec(None)


PyTree, Context = Any, Any


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]], unflatten_fn: Callable[[Any, Any], Any], **others: Any
) -> None:
    """Let containers of a class be opened: into children and what they are beside these, and made of both again."""
    if cls in KNOWN:
        raise ValueError(f"{cls} is already registered as pytree node.")

    def opened(x: Any) -> tuple[list[Any], Any]:
        children, context = flatten_fn(x)
        return list(children), context

    KNOWN[cls] = _Node(opened, unflatten_fn)


def tree_is_leaf(tree: Any, is_leaf: Asked = None) -> bool:
    """Whether something is not opened."""
    return (is_leaf is not None and is_leaf(tree)) or _node(tree) is None


def tree_flatten(tree: Any, is_leaf: Asked = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested containers, in order, and what they hung on. None is a leaf."""
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        return [tree], TreeSpec(None)
    children, context = node.flatten_fn(tree)
    parts = [tree_flatten(child, is_leaf) for child in children]
    return [leaf for leaves, _ in parts for leaf in leaves], TreeSpec(type(tree), context, [s for _, s in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The containers with other leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"Expected `leaves` to have {treespec.num_leaves} leaves for the tree, but got {len(given)}: {treespec}"
        )
    return _joined(iter(given), treespec)


def _joined(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_joined(leaves, child) for child in spec._children]
    node = KNOWN.get(spec.type, _NAMED)
    return node.unflatten_fn(children, spec.context)


def tree_iter(tree: Any, is_leaf: Asked = None) -> Iterable[Any]:
    """The leaves, one after another."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: Any, is_leaf: Asked = None) -> list[Any]:
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Asked = None) -> TreeSpec:
    """What the leaves hang on."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Asked = None) -> Any:
    """The containers with `func` of each leaf, and of what other trees have in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Asked = None) -> Any:
    """Call `func` of each leaf, and give the tree back."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _of_kind(kind: Any) -> Callable[[Any], bool]:
    if isinstance(kind, type | tuple) or hasattr(kind, "__args__"):
        return lambda x: isinstance(x, kind)
    return kind


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Asked = None) -> Any:
    """The containers with `func` of each leaf of a class, or of which a function says yes; others stay."""
    chosen = _of_kind(kind)
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Asked = None) -> Any:
    """Call `func` of each leaf of a class, and give the tree back."""
    tree_map_only(kind, func, tree, is_leaf=is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Asked = None) -> bool:
    """Whether it holds for each leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Asked = None) -> bool:
    """Whether it holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Asked = None) -> bool:
    """Whether it holds for each leaf of a class."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if _of_kind(kind)(x))


def tree_any_only(kind: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Asked = None) -> bool:
    """Whether it holds for a leaf of a class."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if _of_kind(kind)(x))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is one of named tuples."""
    return _named(cls)


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple, or a class of them."""
    return _named(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether something is a named tuple."""
    return _named(type(obj))


__all__ = [
    "Context", "LeafSpec", "PyTree", "TreeSpec", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_is_leaf",
    "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure",
    "tree_unflatten",
]  # fmt: skip
