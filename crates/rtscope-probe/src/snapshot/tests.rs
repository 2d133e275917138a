//! Fixture trees.
