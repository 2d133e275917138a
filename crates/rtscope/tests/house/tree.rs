//! The crates' sources as a tree of modules: what each module defines and imports, and which paths its code names.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, LitStr, Meta, Token, UseTree};

/// A path as written: `crate::a::B` is `["crate", "a", "B"]`.
pub(crate) type Names = Vec<String>;

/// A module of a crate: a file, or a `mod name { ... }` inside one.
#[derive(Default)]
pub(crate) struct Module {
    /// Its file, relative to the directory of the crates.
    pub(crate) file: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// The names that it defines.
    pub(crate) defined: BTreeSet<String>,
    /// The names that its `use` lines import, and the path of each.
    pub(crate) imports: BTreeMap<String, Names>,
    /// The paths of its glob imports, such as `use a::*`.
    pub(crate) globs: Vec<Names>,
    /// Every path in its code, in `use` lines and elsewhere.
    pub(crate) written: Vec<Names>,
    /// A face: it holds nothing but `mod` and `use` lines, so a name that is taken from it counts as taken from where it is
    /// defined.
    pub(crate) face: bool,
}

/// All modules of all crates, without tests.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
    /// The root modules of the libraries, by the names that code uses for them.
    pub(crate) libraries: BTreeMap<String, usize>,
    /// Files that belong to the tests.
    tests: BTreeSet<String>,
}

impl Tree {
    /// Parses `sources`: texts by path, such as `rtscope-record/src/lib.rs`.
    pub(crate) fn read(sources: &BTreeMap<String, String>) -> Self {
        let mut all = Self::default();
        for file in sources.keys() {
            let Some((package, path)) = file.split_once("/src/") else { continue };
            let program =
                path == "main.rs" || path.strip_prefix("bin/").is_some_and(|p| !p.contains('/') || p.ends_with("/main.rs"));
            if path == "lib.rs" || program {
                let root = all.file(sources, file, None, false);
                if path == "lib.rs" {
                    all.libraries.insert(package.replace('-', "_"), root);
                }
            }
        }
        all
    }

    /// Files that no `mod` line leads to.
    pub(crate) fn unread<'a>(&self, sources: &'a BTreeMap<String, String>) -> Vec<&'a str> {
        let read: BTreeSet<&str> = self.modules.iter().map(|m| m.file.as_str()).collect();
        let all = sources.keys().map(String::as_str);
        all.filter(|f| f.contains("/src/") && !read.contains(f) && !self.tests.contains(*f)).collect()
    }

    /// Reads a file and those that its `mod` lines name. With `tests`, only notes which files these are.
    fn file(&mut self, sources: &BTreeMap<String, String>, file: &str, parent: Option<usize>, tests: bool) -> usize {
        let text = sources.get(file).unwrap_or_else(|| panic!("{file} is named by a `mod` line but is not there"));
        let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let root = parent.is_none() || name == "mod.rs";
        let below = if root { folder.to_owned() } else { file.trim_end_matches(".rs").to_owned() };
        self.module(sources, file, &below, parsed.items, parent, tests)
    }

    fn module(
        &mut self,
        sources: &BTreeMap<String, String>,
        file: &str,
        below: &str,
        items: Vec<Item>,
        parent: Option<usize>,
        tests: bool,
    ) -> usize {
        let own = self.modules.len();
        let mut looked = Look(Module { file: file.into(), parent, face: true, ..Module::default() });
        if tests {
            self.tests.insert(file.into());
        } else {
            self.modules.push(Module::default());
        }
        let mut children = Vec::new();
        for item in items {
            let of_tests = tests || is_test(attributes(&item));
            if let Item::Mod(m) = item {
                children.push((m, of_tests));
            } else if !of_tests {
                looked.0.face &= matches!(item, Item::Use(_));
                looked.0.defined.extend(defined(&item));
                looked.visit_item(&item);
            }
        }
        if !tests {
            self.modules[own] = looked.0;
        }
        for (m, of_tests) in children {
            let name = m.ident.to_string();
            let child = if let Some((_, items)) = m.content {
                self.module(sources, file, &format!("{below}/{name}"), items, Some(own), of_tests)
            } else {
                let folder = file.rsplit_once('/').map_or("", |f| f.0);
                let places = match path_attribute(&m.attrs) {
                    Some(path) => vec![format!("{folder}/{path}")],
                    None => vec![format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")],
                };
                let place = places.iter().find(|p| sources.contains_key(*p)).unwrap_or(&places[0]);
                self.file(sources, place, Some(own), of_tests)
            };
            if !of_tests {
                self.modules[own].children.insert(name, child);
            }
        }
        own
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::ExternCrate(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// Whether an item exists in tests only: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, ...))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    fn asks(meta: &Meta) -> bool {
        match meta {
            Meta::Path(p) => p.is_ident("test"),
            Meta::List(l) if l.path.is_ident("all") || l.path.is_ident("cfg") => {
                l.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).is_ok_and(|all| all.iter().any(asks))
            }
            _ => false,
        }
    }
    attributes.iter().any(|a| asks(&a.meta))
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|a| match &a.meta {
        Meta::NameValue(n) if n.path.is_ident("path") => match &n.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(s), .. }) => Some(s.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The names that an item defines in its module.
fn defined(item: &Item) -> Names {
    let name = match item {
        Item::Const(i) => &i.ident,
        Item::Enum(i) => &i.ident,
        Item::Fn(i) => &i.sig.ident,
        Item::Static(i) => &i.ident,
        Item::Struct(i) => &i.ident,
        Item::Trait(i) => &i.ident,
        Item::Type(i) => &i.ident,
        Item::Union(i) => &i.ident,
        Item::Macro(i) => return i.ident.iter().map(ToString::to_string).chain(made(&i.mac.tokens)).collect(),
        _ => return Vec::new(),
    };
    vec![name.to_string()]
}

/// What a macro call between items probably defines: the names after `enum`, `struct` and so on.
fn made(tokens: &TokenStream) -> Names {
    let mut found = Vec::new();
    let mut after = false;
    for token in tokens.clone() {
        if let TokenTree::Ident(i) = token {
            let word = i.to_string();
            let announces = matches!(word.as_str(), "const" | "enum" | "fn" | "static" | "struct" | "trait" | "type");
            if after && !announces {
                found.push(word);
            }
            after = announces;
        }
    }
    found
}

/// Visits the code of a module, without its child modules.
struct Look(Module);

impl Look {
    /// Notes the paths in tokens that are not parsed Rust: the arguments of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |at: usize, c: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == c);
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(g) => self.tokens(g.stream()),
                TokenTree::Ident(first) if at == 0 || !is(at - 1, '.') && !is(at - 1, ':') => {
                    let mut names = vec![first.to_string()];
                    while let (true, true, Some(TokenTree::Ident(next))) = (is(at + 1, ':'), is(at + 2, ':'), tokens.get(at + 3)) {
                        names.push(next.to_string());
                        at += 3;
                    }
                    self.0.written.push(names);
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let joined = |name: &dyn ToString| before.iter().cloned().chain([name.to_string()]).collect::<Names>();
        let mut named = |path: Names, name: String| {
            // `use a::{self, b}` names `a` itself.
            let path =
                if path.len() > 1 && path.last().is_some_and(|l| l == "self") { path[..path.len() - 1].to_vec() } else { path };
            let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
            self.0.written.push(path.clone());
            self.0.imports.insert(name, path);
        };
        match tree {
            UseTree::Path(p) => self.import(&p.tree, &joined(&p.ident)),
            UseTree::Name(n) => named(joined(&n.ident), n.ident.to_string()),
            UseTree::Rename(r) => named(joined(&r.ident), r.rename.to_string()),
            UseTree::Glob(_) => {
                self.0.written.push(before.to_vec());
                self.0.globs.push(before.to_vec());
            }
            UseTree::Group(g) => g.items.iter().for_each(|tree| self.import(tree, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Look {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) && !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_test(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.0.written.push(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    // `pub(super)` takes nothing from there.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    // `#[serde(with = "crate::a")]`: a path in a string is still a path.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let Meta::List(list) = &attribute.meta else { return };
        for token in list.tokens.clone() {
            if let TokenTree::Literal(l) = token {
                let path = syn::parse2::<LitStr>(TokenTree::from(l).into()).and_then(|s| s.parse::<syn::Path>());
                if let Ok(path) = path {
                    self.visit_path(&path);
                }
            }
        }
    }
}
