//! Collects the [`System`](rtscope_record::System) snapshot of the machine it runs on.
