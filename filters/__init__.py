"""How answers are read: model text in, a typed reading out; no document, no network."""
