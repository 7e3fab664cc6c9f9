//! Packets and the messages made of them.
