//! Copies of a session's statements for other hostgroups.
