//! The visit of a page without an executor.
