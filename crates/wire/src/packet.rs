//! What servers send, and the login: one packet, one file.
