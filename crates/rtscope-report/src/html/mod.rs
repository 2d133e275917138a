//! A self-contained HTML page: tables, static pictures, and the data and script that turn them into charts.
//!
//! The page can make no requests: a content security policy allows only its own script and style, by their hashes. Its
//! contents are a function of records ([`page::content`]); only [`document`] deals with the file around them.

mod comparison;
mod data;
mod document;
mod explained;
mod lines;
mod navigation;
mod page;
mod papers;
mod parts;
mod reference;
mod run;
mod summary;
mod table;
mod tail;
mod variants;
mod versus;

pub use page::{Options, page};
pub use tail::TailOf;
