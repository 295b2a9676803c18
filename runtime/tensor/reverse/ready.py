"""Which node backward comes to next: the newest of those to which all gradients have come, ends of the graph at once.

PyTorch keeps them in a heap.  Where several ends wait, which have no age, it is the heap that says whose turn it is; so
this is the heap of the C++ library that PyTorch is built with, for hooks see the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .nodes import Node


class Ready:
    """The nodes of a backward that are ready, while it goes on.

    waits  how many gradients a node has still to get
    heap   the nodes that are ready, of which none is younger than the one at half its place
    """

    def __init__(self, nodes: Iterable[Node], roots: Sequence[Node]) -> None:
        self.waits: dict[Node, int] = {}
        waits = self.waits
        for node in nodes:
            for edge in node.edges:
                if edge is not None:
                    waits[edge[0]] = waits.get(edge[0], 0) + 1
        self.heap: list[tuple[float, Node]] = []
        for node in dict.fromkeys(roots):
            if not waits.get(node):
                self._push(len(self.heap), node)

    def passed(self, node: Node) -> None:
        """Note that a node has given its gradients."""
        for edge in node.edges:
            if edge is not None:
                after = edge[0]
                left = self.waits[after] = self.waits[after] - 1
                if not left:
                    self._push(len(self.heap), after)

    def pop(self) -> Node:
        """Take out the node whose turn it is."""
        heap = self.heap
        node, last = heap[0][1], heap.pop()
        if heap:
            at, end = 0, len(heap)
            while at < (end - 1) // 2:
                child = 2 * at + 2
                if heap[child][0] < heap[child - 1][0]:
                    child -= 1
                heap[at], at = heap[child], child
            if end % 2 == 0 and at == (end - 2) // 2:
                heap[at], at = heap[2 * at + 1], 2 * at + 1
            self._lift(at, last)
        return node

    def _push(self, at: int, node: Node) -> None:
        entry = (node.age, node)
        self.heap.append(entry)
        self._lift(at, entry)

    def _lift(self, at: int, entry: tuple[float, Node]) -> None:
        """Put an entry where it belongs above a place."""
        heap = self.heap
        while at and heap[(at - 1) // 2][0] < entry[0]:
            heap[at], at = heap[(at - 1) // 2], (at - 1) // 2
        heap[at] = entry


__all__ = ["Ready"]
