"""The protocols that are hunted, by name."""

from .arguments import ARGUMENTS
from .case import Protocol
from .exporters import EXPORTERS
from .frames import COLUMN, FRAME
from .interfaces import CUDA, INTERFACES
from .mappings import MAPPINGS
from .ndarrays import NDARRAYS
from .pointers import POINTERS
from .structs import ARROW, STREAMS
from .tensors import DLPACK, TABLES

PROTOCOLS: dict[str, Protocol] = {
    "pointers": POINTERS,
    "ndarrays": NDARRAYS,
    "exporters": EXPORTERS,
    "dlpack": DLPACK,
    "exchange tables": TABLES,
    "array interface": INTERFACES,
    "cuda array interface": CUDA,
    "arrow arrays": ARROW,
    "arrow streams": STREAMS,
    "columns": COLUMN,
    "frames": FRAME,
    "mappings": MAPPINGS,
    "arguments": ARGUMENTS,
}
