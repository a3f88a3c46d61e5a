"""Composes Java methods into one that the JVM runs for many items in one call.

A call from Python to the JVM costs 0.1 ms, and each file needs several. So the calls are composed once, as method
handles, and all items are sent as one JSON array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.spark.gateway import Gateway

NODE: Final = "org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode"
_SEPARATOR: Final = "\x1e"  # paths do not contain it, and JSON escapes it


class MethodHandles:
    """Finds and composes public Java methods. An instance method takes its object as the first argument."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._handles = gateway.jvm.java.lang.invoke.MethodHandles

    def method(self, owner: str, name: str, *arguments: str) -> Any:
        """Finds a method by its class, its name and the classes of its arguments."""
        return self._gateway.once("method", owner, name, *arguments, make=lambda: self._find(owner, name, arguments))

    def _find(self, owner: str, name: str, arguments: Sequence[str]) -> Any:
        classes = self._gateway.array("java.lang.Class", [self._gateway.java_class(name) for name in arguments])
        return self._handles.publicLookup().unreflect(self._gateway.java_class(owner).getMethod(name, classes))

    def with_values(self, handle: Any, position: int, *values: Any) -> Any:
        """Fixes some arguments of a method."""
        return self._handles.insertArguments(handle, position, self._gateway.array("java.lang.Object", values))

    def then(self, first: Any, *further: Any) -> Any:
        """Chains methods: each takes the result of the one before."""
        for handle in further:
            signature = handle.type().changeParameterType(0, first.type().returnType())
            first = self._handles.filterReturnValue(first, handle.asType(signature))
        return first

    def with_result(self, handle: Any, position: int, first: Any) -> Any:
        """Replaces one argument of a method by the arguments of another method, which computes it."""
        signature = first.type().changeReturnType(handle.type().parameterType(position))
        return self._handles.collectArguments(handle, position, first.asType(signature))

    def after(self, first: Any, handle: Any) -> Any:
        """Computes the first argument of a method by another method, which has no arguments."""
        return self._handles.foldArguments(handle, first)

    def both(self, handle: Any, first: Any, second: Any) -> Any:
        """Applies a method of two arguments to the results of two methods that share one argument."""
        filters = self._gateway.array("java.lang.invoke.MethodHandle", [first, second])
        filtered = self._handles.filterArguments(handle, 0, filters)
        signature = first.type().changeReturnType(filtered.type().returnType())
        return self._handles.permuteArguments(filtered, signature, self._gateway.int_array([0, 0]))

    def run(self, handle: Any, array: str) -> None:
        """Calls a method with each element of a JSON array, as a `JsonNode`."""
        self._gateway.json_node(array).forEach(self.function("Consumer", handle))

    def function(self, interface: str, handle: Any) -> Any:
        """Wraps a method of one argument as Java's `Consumer`, `Predicate` or `Function`."""
        proxies = self._gateway.jvm.java.lang.invoke.MethodHandleProxies
        return proxies.asInterfaceInstance(self._gateway.java_class(f"java.util.function.{interface}"), handle)

    def of_collection(self, name: str, collection: Any) -> Any:
        """Finds a method of a Java collection that takes one item, such as `add` or `contains`."""
        return self.method("java.util.Collection", name, "java.lang.Object").bindTo(collection)

    def text_set(self, texts: Iterable[str]) -> Any:
        """Makes a Java set of texts."""
        return self._gateway.jvm.java.util.HashSet(self._gateway.text_list(texts))

    def texts(self, collection: Any) -> list[str]:
        """Reads the texts of a Java collection in one call."""
        if not collection.size():
            return []
        return str(self._gateway.jvm.java.lang.String.join(_SEPARATOR, collection)).split(_SEPARATOR)
