//! Proofs of the login methods, for both sides.
