//! What ends a session from outside of it, and what its client is told then.
