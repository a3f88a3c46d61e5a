"""Pure bytes: Roaring bitmaps, vectors, Puffin files, key codecs and stored key sets. Neither Spark nor the JVM."""

from __future__ import annotations

from rowdelta.codec.bitmaps import bitmap_from_sorted, bitmap_to_numpy, sorted_distinct
from rowdelta.codec.byte_source import BytesSource, PathSource, Source
from rowdelta.codec.deletion_vector import FRAME_BYTES, MAX_POSITION, decode_vector, encode_vector
from rowdelta.codec.delta_vector import DeletionVectorDescriptor, decode_dv, dv_path, to_vector_blob
from rowdelta.codec.equality_vector import (
    EDV_V1,
    EDV_V2,
    EqualityDeleteVector,
    decode_edv,
    decode_edv_file,
    encode_edv,
    encode_edv_file,
)
from rowdelta.codec.hash_map import HASH_BLOB_TYPE, HashedKeys, decode_hashed, encode_hashed, fold
from rowdelta.codec.key_codecs import IntegerCodec, KeyCodec, codec_for
from rowdelta.codec.key_codecs import get as get_codec
from rowdelta.codec.key_codecs import register as register_codec
from rowdelta.codec.puffin import Blob, BlobMetadata, PuffinFile, PuffinWriter, read_blob, read_puffin
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT, UNSIGNED_HIGH_KEY_LIMIT, decode32, decode64, encode32, encode64
from rowdelta.codec.set_compression import SetCompression, get_compression, register_compression
from rowdelta.codec.spark_hash import spark_hashes

__all__ = [
    "EDV_V1",
    "EDV_V2",
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
    "codec_for",
    "decode32",
    "decode64",
    "decode_dv",
    "decode_edv",
    "decode_edv_file",
    "decode_hashed",
    "decode_vector",
    "dv_path",
    "encode32",
    "encode64",
    "encode_edv",
    "encode_edv_file",
    "encode_hashed",
    "encode_vector",
    "fold",
    "get_codec",
    "get_compression",
    "read_blob",
    "read_puffin",
    "register_codec",
    "register_compression",
    "sorted_distinct",
    "spark_hashes",
    "to_vector_blob",
]
