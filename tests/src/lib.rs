//! End-to-end tests live in this package; see `tests/`.
