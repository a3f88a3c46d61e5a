"""Encodes and decodes bytes without Spark or the JVM: Roaring bitmaps, vectors, Puffin files, key codecs, key sets."""

from __future__ import annotations

from rowdelta.codec.bitmaps import bitmap_from_sorted, bitmap_to_numpy, sort_distinct
from rowdelta.codec.byte_source import BytesSource, PathSource, Source
from rowdelta.codec.deletion_vector import FRAME_BYTES, MAX_POSITION, decode_deletion_vector, encode_deletion_vector
from rowdelta.codec.delta_vector import (
    DeletionVectorDescriptor,
    convert_to_deletion_vector,
    decode_delta_vector,
    delta_vector_path,
)
from rowdelta.codec.equality_vector import (
    EQUALITY_DELETE_VECTOR_V1,
    EQUALITY_DELETE_VECTOR_V2,
    EqualityDeleteVector,
    decode_equality_vector,
    decode_equality_vector_file,
    encode_equality_vector,
    encode_equality_vector_file,
)
from rowdelta.codec.hash_map import HASH_BLOB_TYPE, HashedKeys, decode_hash_map, encode_hash_map, fold_hashes
from rowdelta.codec.key_codecs import IntegerCodec, KeyCodec, find_codec
from rowdelta.codec.key_codecs import get as get_codec
from rowdelta.codec.key_codecs import register as register_codec
from rowdelta.codec.puffin import Blob, BlobMetadata, PuffinFile, PuffinWriter, read_blob, read_puffin
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT, UNSIGNED_HIGH_KEY_LIMIT, decode32, decode64, encode32, encode64
from rowdelta.codec.set_compression import SetCompression, get_compression, register_compression
from rowdelta.codec.spark_hash import compute_spark_hashes

__all__ = [
    "EQUALITY_DELETE_VECTOR_V1",
    "EQUALITY_DELETE_VECTOR_V2",
    "FRAME_BYTES",
    "HASH_BLOB_TYPE",
    "JAVA_HIGH_KEY_LIMIT",
    "MAX_POSITION",
    "UNSIGNED_HIGH_KEY_LIMIT",
    "Blob",
    "BlobMetadata",
    "BytesSource",
    "DeletionVectorDescriptor",
    "EqualityDeleteVector",
    "HashedKeys",
    "IntegerCodec",
    "KeyCodec",
    "PathSource",
    "PuffinFile",
    "PuffinWriter",
    "SetCompression",
    "Source",
    "bitmap_from_sorted",
    "bitmap_to_numpy",
    "compute_spark_hashes",
    "convert_to_deletion_vector",
    "decode32",
    "decode64",
    "decode_deletion_vector",
    "decode_delta_vector",
    "decode_equality_vector",
    "decode_equality_vector_file",
    "decode_hash_map",
    "delta_vector_path",
    "encode32",
    "encode64",
    "encode_deletion_vector",
    "encode_equality_vector",
    "encode_equality_vector_file",
    "encode_hash_map",
    "find_codec",
    "fold_hashes",
    "get_codec",
    "get_compression",
    "read_blob",
    "read_puffin",
    "register_codec",
    "register_compression",
    "sort_distinct",
]
