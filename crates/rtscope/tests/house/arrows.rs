//! Which file takes which names from which other file: follows the paths of a module to where their names are taken from and
//! defined.

use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// For each file, the files that it takes names from, with these names.
pub(crate) type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Limit for cycles of re-exports; no real path is as long.
const DEEPEST: usize = 32;

/// What a path leads to.
enum End {
    Module(usize),
    /// A type, a function or the like: the rest of the path belongs to it.
    Item,
}

/// The modules that a path takes names from, with the names.
type Taken = Vec<(usize, String)>;

/// The arrows of the whole tree. An arrow goes to the file where a name is defined, and to every file that re-exports it unless
/// that file is a mere face. A `mod` line is no arrow: a parent may have children that it takes nothing from.
pub(crate) fn arrows(tree: &Tree) -> Arrows {
    let mut found = Arrows::new();
    for (at, module) in tree.modules.iter().enumerate() {
        let own = found.entry(module.file.clone()).or_default();
        for path in &module.written {
            for (from, name) in taken(tree, at, path) {
                let other = &tree.modules[from];
                if other.file != module.file && !other.face {
                    own.entry(other.file.clone()).or_default().insert(name);
                }
            }
        }
    }
    found
}

/// Where `path`, written in the module `at`, takes names from.
fn taken(tree: &Tree, at: usize, path: &[String]) -> Taken {
    let mut found = Taken::new();
    if let [name] = path {
        let m = &tree.modules[at];
        let known = m.children.contains_key(name) || m.defined.contains(name) || m.imports.contains_key(name);
        // A single name is the module's own, imported by name (counted at the import), or imported by a glob.
        if !known && !is_keyword(name) {
            through_globs(tree, at, name, &mut found, 0);
            return found;
        }
    }
    if let Some(End::Module(m)) = follow(tree, at, path, &mut found, 0) {
        found.push((m, path.last().cloned().unwrap_or_default()));
    }
    found
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "crate" | "self" | "super" | "Self")
}

fn follow(tree: &Tree, at: usize, path: &[String], taken: &mut Taken, depth: usize) -> Option<End> {
    let (first, mut rest) = path.split_first()?;
    let mut here = match first.as_str() {
        "crate" => {
            let mut root = at;
            while let Some(parent) = tree.modules[root].parent {
                root = parent;
            }
            root
        }
        "self" => at,
        "super" => tree.modules[at].parent?,
        name => match look_up(tree, at, name, taken, depth) {
            Some(End::Module(m)) => m,
            Some(End::Item) => return Some(End::Item),
            None => *tree.libraries.get(name)?,
        },
    };
    while let Some((name, after)) = rest.split_first() {
        rest = after;
        match name.as_str() {
            "super" => here = tree.modules[here].parent?,
            "self" => {}
            _ => match look_up(tree, here, name, taken, depth) {
                Some(End::Module(m)) => here = m,
                Some(End::Item) => return Some(End::Item),
                None => {
                    // A macro may have made it; it is taken from this module.
                    taken.push((here, name.clone()));
                    return Some(End::Item);
                }
            },
        }
    }
    Some(End::Module(here))
}

/// What `name` is in the module `at`.
fn look_up(tree: &Tree, at: usize, name: &str, taken: &mut Taken, depth: usize) -> Option<End> {
    let m = &tree.modules[at];
    if let Some(&child) = m.children.get(name) {
        return Some(End::Module(child));
    }
    if m.defined.contains(name) {
        taken.push((at, name.into()));
        return Some(End::Item);
    }
    let Some(path) = m.imports.get(name) else { return through_globs(tree, at, name, taken, depth) };
    taken.push((at, name.into()));
    // `use serde::Serialize` leads out of the workspace; `use self::a` within `mod a` leads nowhere.
    if depth >= DEEPEST || path.len() == 1 && path[0] == name {
        return tree.libraries.get(name).map(|&root| End::Module(root));
    }
    Some(follow(tree, at, path, taken, depth + 1).unwrap_or(End::Item))
}

fn through_globs(tree: &Tree, at: usize, name: &str, taken: &mut Taken, depth: usize) -> Option<End> {
    if depth >= DEEPEST {
        return None;
    }
    tree.modules[at].globs.iter().find_map(|path| {
        let mut way = Taken::new();
        let Some(End::Module(m)) = follow(tree, at, path, &mut way, depth + 1) else { return None };
        let end = look_up(tree, m, name, &mut way, depth + 1)?;
        taken.push((at, name.into()));
        taken.append(&mut way);
        Some(end)
    })
}
