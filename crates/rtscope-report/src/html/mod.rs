//! One self-contained HTML page: tables, static pictures, and the data and script that turn them into charts.
//!
//! The page can make no request: a content security policy allows its own script and style by their hashes and nothing else. What it shows
//! is a function of records ([`page::content`]); that it is a file of its own is the business of [`document`] alone.

mod comparison;
mod data;
mod document;
mod lines;
mod navigation;
mod page;
mod parts;
mod run;
mod summary;
mod table;
mod versus;

pub use page::{Options, page};
