//! Finds where an answer ends by looking at packet headers only.
