//! Local.

#[allow(dead_code)]
mod cache;
#[allow(dead_code)]
mod graph;
#[allow(dead_code)]
mod index;
#[allow(dead_code)]
mod pack;
#[allow(dead_code)]
mod paged;
