//! Bounds on the tail: extreme-value fits, and the gates before them.
