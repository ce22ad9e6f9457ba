"""Stand-in for msgspec.structs."""

from dataclasses import replace

__all__ = ["replace"]
