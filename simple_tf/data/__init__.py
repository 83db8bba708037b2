"""Everything that was ever played: episode codec, append-only store, windows, start states."""
