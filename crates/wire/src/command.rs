//! What clients send after the login: one command, one file.
