"""Finds and loads the shared library."""
import ctypes
import os
import pathlib
import platform
import sys

from . import _native

NAME = "libhawser.so.0"


def _path() -> str:
    given = os.environ.get("HAWSER_LIBRARY")
    if given:
        if not os.path.exists(given):
            raise ImportError(f"HAWSER_LIBRARY is '{given}', which does not exist; set it to the path of {NAME}")
        return given
    inside = pathlib.Path(__file__).parent / "lib" / NAME
    if inside.exists():
        return str(inside)
    raise ImportError(
        f"hawser's library {NAME} is not in the package, as it is in a wheel; install the wheel that script/wheel makes, or "
        f"set HAWSER_LIBRARY to the library of your build, such as build/release/src/{NAME}")


def _load() -> ctypes.CDLL:
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64") or sys.maxsize < 2**32:
        raise ImportError(f"hawser runs on 64-bit Linux on x86-64; this is {sys.platform} on {platform.machine()}")
    if sys.version_info < (3, 11):
        raise ImportError(f"hawser needs Python 3.11 or later; this is {platform.python_version()}")
    path = _path()
    try:
        library = ctypes.CDLL(path)
        library.hawser_version.restype = ctypes.c_char_p
        found = (library.hawser_version() or b"").decode()
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load hawser's library '{path}': {error}") from error
    if found != _native.VERSION:
        raise ImportError(f"the library '{path}' has version {found}, and this package is for version {_native.VERSION}; "
                          "install both from one release")
    if _digest(library) != _native.DIGEST:
        raise ImportError(f"the library '{path}' was built from other headers than this package; build it again from the package's "
                          "sources, or set HAWSER_LIBRARY to a library that was")
    _native.bind(library)
    return library


def _digest(library: ctypes.CDLL) -> str:
    """Returns the digest of the library's headers. Structs of other headers would be read at wrong places, and crash."""
    try:
        library.hawser_headers_digest.restype = ctypes.c_char_p
        return (library.hawser_headers_digest() or b"").decode()
    except AttributeError:
        return "none, since the library is older than the digest"


library = _load()
