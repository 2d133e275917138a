//! Runs as replicates: differences of two sides with their intervals, and how many runs they take.
