"""Every native and exchange protocol, on buffers, columns and tables: not built yet, exports nothing so far."""

__all__: list[str] = []
