"""How readings are scored: pure functions on arrays and records; no host imports."""
