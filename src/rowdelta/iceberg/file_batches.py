"""Many files handed to Iceberg in a few calls.

A call from Python to the JVM costs 0.1 ms, and building one file object takes several. So the files go over as one JSON
array, and a method handle that parses one element and passes it on is run over the array inside the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg.content_files import ContentFile
    from rowdelta.iceberg.gateway import Gateway

_BATCH: Final = 2_000
_ROW_DELTA: Final = "org.apache.iceberg.RowDelta"
_NODE: Final = "org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode"
_PARSER: Final = "org.apache.iceberg.ContentFileParser"
_ARGUMENTS: Final = {
    "addRows": "org.apache.iceberg.DataFile",
    "removeRows": "org.apache.iceberg.DataFile",
    "addDeletes": "org.apache.iceberg.DeleteFile",
    "removeDeletes": "org.apache.iceberg.DeleteFile",
}


def pass_files(gateway: Gateway, delta: Any, method: str, files: Sequence[ContentFile], specs: Any) -> None:
    """Calls a method of Iceberg's `RowDelta` with each file.

    Args:
        gateway: The JVM.
        delta: The `RowDelta`.
        method: `addRows`, `removeRows`, `addDeletes` or `removeDeletes`.
        files: The files.
        specs: Iceberg's map of the partition specs by id.
    """
    if not files:
        return
    consumer = _consumer(gateway, delta, method, specs)
    for start in range(0, len(files), _BATCH):
        array = ",".join(file.to_json() for file in files[start : start + _BATCH])
        gateway.json_node(f"[{array}]").forEach(consumer)


def _consumer(gateway: Gateway, delta: Any, method: str, specs: Any) -> Any:
    """A `Consumer<JsonNode>` that parses a file and calls the method with it."""
    invoke = gateway.jvm.java.lang.invoke
    lookup, handles = invoke.MethodHandles.publicLookup(), invoke.MethodHandles
    node, argument = gateway.java_class(_NODE), gateway.java_class(_ARGUMENTS[method])
    parse = lookup.unreflect(
        gateway.java_class(_PARSER).getMethod("fromJson", _classes(gateway, node, gateway.java_class("java.util.Map")))
    )
    parse = handles.insertArguments(parse, 1, gateway.array("java.lang.Object", [specs]))
    parse = parse.asType(invoke.MethodType.methodType(argument, node))
    take = lookup.unreflect(gateway.java_class(_ROW_DELTA).getMethod(method, _classes(gateway, argument))).bindTo(delta)
    both = handles.filterArguments(take, 0, gateway.array("java.lang.invoke.MethodHandle", [parse]))
    return invoke.MethodHandleProxies.asInterfaceInstance(gateway.java_class("java.util.function.Consumer"), both)


def _classes(gateway: Gateway, *classes: Any) -> Any:
    return gateway.array("java.lang.Class", classes)
