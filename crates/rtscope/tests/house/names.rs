//! One public type's name, one thing: no two crates give the same name to a public type.

use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, Visibility};

/// The names of public types and traits that several crates define, each with its files.
pub(crate) fn shared(sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut homes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (file, text) in sources {
        let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"));
        for item in &parsed.items {
            let (visibility, name) = match item {
                Item::Struct(i) => (&i.vis, &i.ident),
                Item::Enum(i) => (&i.vis, &i.ident),
                Item::Trait(i) => (&i.vis, &i.ident),
                Item::Type(i) => (&i.vis, &i.ident),
                _ => continue,
            };
            if matches!(visibility, Visibility::Public(_)) {
                homes.entry(name.to_string()).or_default().insert(file);
            }
        }
    }
    let room = |file: &str| file.split('/').next().unwrap_or_default().to_owned();
    homes.retain(|_, files| files.iter().map(|f| room(f)).collect::<BTreeSet<_>>().len() > 1);
    homes.into_iter().map(|(name, files)| format!("{name}: {}", files.into_iter().collect::<Vec<_>>().join(", "))).collect()
}
