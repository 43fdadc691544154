//! Sleeping between fetches, and how to sleep deeper.
