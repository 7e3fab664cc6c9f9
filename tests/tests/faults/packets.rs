//! packets
