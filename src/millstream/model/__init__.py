"""The basic values that all packages share: types, schemas, names, settings and errors."""
