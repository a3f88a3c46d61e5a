"""Java methods put together into one that the JVM runs over many items.

A call from Python to the JVM costs 0.1 ms, and what is to be done with a file takes several. So the calls are composed
once, as method handles, and the items go over as one JSON array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.spark.gateway import Gateway

NODE: Final = "org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode"
_SEPARATOR: Final = "\x1e"  # in no path, and escaped in JSON


class MethodHandles:
    """Finds and composes public Java methods; the first argument of one that is not static is the object."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._handles = gateway.jvm.java.lang.invoke.MethodHandles

    def method(self, owner: str, name: str, *arguments: str) -> Any:
        """A method, by the names of its class and of the classes of its arguments."""
        return self._gateway.once("method", owner, name, *arguments, make=lambda: self._find(owner, name, arguments))

    def _find(self, owner: str, name: str, arguments: Sequence[str]) -> Any:
        kinds = self._gateway.array("java.lang.Class", [self._gateway.java_class(kind) for kind in arguments])
        return self._handles.publicLookup().unreflect(self._gateway.java_class(owner).getMethod(name, kinds))

    def with_values(self, handle: Any, position: int, *values: Any) -> Any:
        """The method with some arguments given."""
        return self._handles.insertArguments(handle, position, self._gateway.array("java.lang.Object", values))

    def then(self, first: Any, *further: Any) -> Any:
        """One method after another, each with the result of the one before."""
        for handle in further:
            kind = handle.type().changeParameterType(0, first.type().returnType())
            first = self._handles.filterReturnValue(first, handle.asType(kind))
        return first

    def with_result(self, handle: Any, position: int, first: Any) -> Any:
        """A method one argument of which is what another method gives: it takes the arguments of that one instead."""
        kind = first.type().changeReturnType(handle.type().parameterType(position))
        return self._handles.collectArguments(handle, position, first.asType(kind))

    def after(self, first: Any, handle: Any) -> Any:
        """A method whose first argument is the result of one that has no arguments."""
        return self._handles.foldArguments(handle, first)

    def both(self, handle: Any, first: Any, second: Any) -> Any:
        """A method of two arguments with the results of two methods, which have one argument together."""
        filters = self._gateway.array("java.lang.invoke.MethodHandle", [first, second])
        filtered = self._handles.filterArguments(handle, 0, filters)
        kind = first.type().changeReturnType(filtered.type().returnType())
        return self._handles.permuteArguments(filtered, kind, self._gateway.int_array([0, 0]))

    def run(self, handle: Any, array: str) -> None:
        """Runs a method that takes a `JsonNode` with each element of a JSON array."""
        self._gateway.json_node(array).forEach(self.function("Consumer", handle))

    def function(self, kind: str, handle: Any) -> Any:
        """A method of one argument as Java's `Consumer`, `Predicate` or `Function`."""
        proxies = self._gateway.jvm.java.lang.invoke.MethodHandleProxies
        return proxies.asInterfaceInstance(self._gateway.java_class(f"java.util.function.{kind}"), handle)

    def of_collection(self, name: str, collection: Any) -> Any:
        """A method of a Java collection that takes one item, such as `add` or `contains`."""
        return self.method("java.util.Collection", name, "java.lang.Object").bindTo(collection)

    def text_set(self, texts: Iterable[str]) -> Any:
        """A Java set of texts."""
        return self._gateway.jvm.java.util.HashSet(self._gateway.text_list(texts))

    def texts(self, collection: Any) -> list[str]:
        """The texts of a Java collection, in one call."""
        if not collection.size():
            return []
        return str(self._gateway.jvm.java.lang.String.join(_SEPARATOR, collection)).split(_SEPARATOR)
