//! Folders are layers: a module imports from its own folder and from those below. Within a folder no two modules import
//! each other, directly or around a corner.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// From the bottom up. CONTRIBUTING draws the same.
const LAYERS: [&str; 5] = ["model", "sys", "render", "present", "terminal"];

/// The source without comments and unit tests.
fn source(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let code = text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.fold(String::new(), |code, line| code + line + "\n")
}

/// The names that follow a prefix in the text: `b` for `a::` in `a::b::c`, also in `use a::{b, c}`.
fn names_after(text: &str, prefix: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let first = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|&c| is_name(c))
            .collect()
    };
    let mut names = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let rest = &text[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(list[..list.find('}').unwrap()].split(',').map(first)),
            None => names.push(first(rest)),
        }
    }
    names
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == name)
}

/// The modules of each layer with their sources; the layer's own file goes by the layer's name.
fn modules() -> Vec<(usize, String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules = Vec::new();
    for (index, name) in LAYERS.iter().enumerate() {
        modules.push((
            index,
            (*name).to_owned(),
            source(&src.join(format!("{name}.rs"))),
        ));
        for entry in fs::read_dir(src.join(name)).into_iter().flatten() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            modules.push((index, module, source(&path)));
        }
    }
    assert!(modules.len() > 20, "the sources are elsewhere");
    modules
}

#[test]
fn imports_point_down() {
    for (at, module, text) in modules() {
        for name in names_after(&text, "crate::") {
            let target = layer(&name).unwrap_or_else(|| panic!("{module}: no layer `{name}`"));
            assert!(
                target <= at,
                "{}/{module} imports from {name}, a layer above",
                LAYERS[at]
            );
        }
    }
}

#[test]
fn modules_of_a_folder_form_no_cycle() {
    let modules = modules();
    for (at, folder) in LAYERS.iter().enumerate() {
        let here = modules
            .iter()
            .filter(|(layer, module, _)| *layer == at && module != folder);
        let mut imports: BTreeMap<&str, Vec<String>> = here
            .map(|(_, module, text)| (module.as_str(), names_after(text, "super::")))
            .collect();
        let known: Vec<&str> = imports.keys().copied().collect();
        for targets in imports.values_mut() {
            targets.retain(|target| known.contains(&target.as_str()));
        }
        // What imports nothing that is left goes, until nothing is left.
        while !imports.is_empty() {
            let left: Vec<&str> = imports.keys().copied().collect();
            imports.retain(|_, targets| targets.iter().any(|name| left.contains(&name.as_str())));
            assert!(
                imports.len() < left.len(),
                "{folder}: a cycle among {left:?}"
            );
        }
    }
}

#[test]
fn contributing_draws_the_same_layers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = fs::read_to_string(path).unwrap();
    let drawn: Vec<&str> = LAYERS.into_iter().rev().collect();
    let picture = drawn.join(" → ");
    assert!(
        text.contains(&picture),
        "CONTRIBUTING does not say {picture}"
    );
}
