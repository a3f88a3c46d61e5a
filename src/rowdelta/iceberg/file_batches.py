"""Passes many files to Iceberg, or searches its manifests for many files, in a few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import TableError
from rowdelta.iceberg.content_files import ContentFile, convert_special_floats
from rowdelta.spark import NODE, JavaError, MethodHandles, read_java_message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rowdelta.iceberg.table_handle import TableHandle
    from rowdelta.spark import Gateway

_BATCH: Final = 2_000
_ROW_DELTA: Final = "org.apache.iceberg.RowDelta"
_PARSER: Final = "org.apache.iceberg.ContentFileParser"
_CONTENT_FILE: Final = "org.apache.iceberg.ContentFile"
_CONTENT_FILES: Final = "org.apache.iceberg.util.ContentFileUtil"
_DATA: Final = "org.apache.iceberg.DataFile"
_DELETE: Final = "org.apache.iceberg.DeleteFile"
_SPEC: Final = "org.apache.iceberg.PartitionSpec"
_ARGUMENTS: Final = {
    "addRows": _DATA,
    "removeRows": _DATA,
    "addDeletes": _DELETE,
    "removeDeletes": _DELETE,
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
    handles = MethodHandles(gateway)
    take = gateway.once("pass", method, make=lambda: _compose_parser(handles, method))
    take = handles.with_values(take.bindTo(delta), 1, specs)
    for start in range(0, len(files), _BATCH):
        array = ",".join(file.to_json() for file in files[start : start + _BATCH])
        handles.run(take, f"[{array}]")


def _compose_parser(handles: MethodHandles, method: str) -> Any:
    """Composes a method of `RowDelta` that takes the JSON of a file, and the specs, instead of the file."""
    parse = handles.method(_PARSER, "fromJson", NODE, "java.util.Map")
    return handles.with_result(handles.method(_ROW_DELTA, method, _ARGUMENTS[method]), 1, parse)


def find_live_paths(handle: TableHandle, paths: Collection[str]) -> set[str]:
    """Finds which of some data files are live in the newest snapshot. Only the paths are read from the manifests."""
    head = handle.java_table.snapshot(handle.branch)
    if head is None or not paths:
        return set()
    handles, iceberg, io = MethodHandles(handle.gateway), handle.gateway.iceberg, handle.java_table.io()
    wanted, live = handles.text_set(paths), handle.gateway.jvm.java.util.HashSet()
    contains = handles.function("Predicate", handles.of_collection("contains", wanted))
    for manifest in _list_manifests(handle, head.dataManifests):
        lines = iceberg.ManifestFiles.readPaths(manifest, io, handle.java_table.specs())
        _collect(handle, live, lines, iceberg.io.CloseableIterable.filter(lines, contains))
    return set(handles.texts(live))


def find_live_deletes(handle: TableHandle, paths: Collection[str]) -> list[ContentFile]:
    """Finds the delete files of the newest snapshot that each refer to one of some data files."""
    head = handle.java_table.snapshot(handle.branch)
    if head is None or not paths:
        return []
    handles, iceberg, io = MethodHandles(handle.gateway), handle.gateway.iceberg, handle.java_table.io()
    specs, live = handle.java_table.specs(), handle.gateway.jvm.java.util.ArrayList()
    reference = handles.method(_CONTENT_FILES, "referencedDataFileLocation", _DELETE)
    wanted = handles.of_collection("contains", handles.text_set(paths))
    is_wanted = handles.function("Predicate", handles.then(reference, wanted))
    to_json = handles.method(_PARSER, "toJson", _CONTENT_FILE, _SPEC)
    for manifest in _list_manifests(handle, head.deleteManifests):
        spec = specs.get(manifest.partitionSpecId())
        reader = iceberg.ManifestFiles.readDeleteManifest(manifest, io, specs)
        files = iceberg.io.CloseableIterable.filter(reader, is_wanted)
        as_json = handles.function("Function", handles.with_values(to_json, 1, spec))
        _collect(handle, live, reader, iceberg.io.CloseableIterable.transform(files, as_json))
    return [convert_special_floats(handle, ContentFile.from_json(text)) for text in handles.texts(live)]


def _list_manifests(handle: TableHandle, listed: Callable[[Any], Any]) -> list[Any]:
    """Lists the manifests that a method of a snapshot returns."""
    try:
        return handle.gateway.members(listed(handle.java_table.io()))
    except JavaError as error:
        raise TableError(f"cannot read the manifest list of {handle.name}: {read_java_message(error)}") from error


def _collect(handle: TableHandle, collection: Any, source: Any, items: Any) -> None:
    """Adds items to a Java collection, and closes their source."""
    try:
        handle.gateway.iceberg.relocated.com.google.common.collect.Iterables.addAll(collection, items)
    except JavaError as error:
        raise TableError(f"cannot read a manifest of {handle.name}: {read_java_message(error)}") from error
    finally:
        source.close()
