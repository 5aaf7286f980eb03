//! Folders are layers: a module imports from its own folder and from those below it, and within a folder no two modules import
//! each other, directly or around a corner. CONTRIBUTING draws the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of a crate.
struct Layers {
    name: &'static str,
    /// From the bottom up.
    folders: &'static [&'static str],
}

const CRATES: [Layers; 3] = [
    Layers {
        name: "outpace",
        folders: &["sys", "sync", "text", "stream", "api", "input"],
    },
    Layers {
        name: "outpace-ratatui",
        folders: &["model", "sys", "render", "present", "terminal"],
    },
    Layers {
        name: "outpace-cli",
        folders: &["platform", "user", "fps", "run", "trace", "bench", "cli"],
    },
];

/// The folders of `bench`, from the bottom up: those on one level do not import each other.
const BENCH: &[&[&str]] = &[
    &["toolchain"],
    &["results"],
    &["destination"],
    &["experiment"],
    &["catalogue", "runner", "view"],
];

/// The folders of `trace`.
const TRACE: &[&[&str]] = &[&["kernel"], &["model"], &["collect"], &["judge"], &["view"]];

/// The modules of the shim, which is a crate of its own.
const SHIM: &[&[&str]] = &[
    &["known", "ring"],
    &["machine"],
    &["symbols", "system"],
    &["musl", "settle"],
    &["originals"],
    &["membership"],
    &["descriptors"],
    &["watch"],
    &["text"],
    &["family", "program"],
    &["environment", "lookups", "writes"],
    &["inline"],
    &["hooks"],
];

/// The source without comments and without its unit tests, which stand at the end of a file.
fn source(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text.find("\n#[cfg(test)]\n").unwrap_or(text.len());
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
        // `$crate` is the caller's way to this crate.
        if text[..at].ends_with('$') {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(entries(list).into_iter().map(first)),
            None => names.push(first(rest)),
        }
    }
    // Behind the last comma of a list.
    names.retain(|name: &String| !name.is_empty());
    names
}

/// The entries of a list of imports, behind its opening brace; lists within it are parts of entries.
fn entries(list: &str) -> Vec<&str> {
    let (mut entries, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                entries.push(&list[from..at]);
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    entries
}

#[test]
fn a_name_is_found_behind_a_list_within_a_list() {
    let text = "use crate::{a::{b, c}, d,};\nuse crate::e::f;";
    assert_eq!(names_after(text, "crate::"), ["a", "d", "e"]);
}

/// A source file of a crate, other than its root.
struct Module {
    /// The index of its folder.
    layer: usize,
    /// Its path below the folder, without `.rs`; empty for the folder's own file.
    path: PathBuf,
    text: String,
}

impl Layers {
    fn directory(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(self.name)
            .join("src")
    }

    fn layer(&self, name: &str) -> Option<usize> {
        self.folders.iter().position(|folder| *folder == name)
    }

    fn modules(&self) -> Vec<Module> {
        let mut modules = Vec::new();
        for (layer, folder) in self.folders.iter().enumerate() {
            let mut left = vec![self.directory().join(folder)];
            let own = self.directory().join(format!("{folder}.rs"));
            if own.exists() {
                let path = PathBuf::new();
                let text = source(&own);
                modules.push(Module { layer, path, text });
            }
            while let Some(directory) = left.pop() {
                for entry in fs::read_dir(&directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        left.push(path);
                    } else if path.extension().is_some_and(|ending| ending == "rs") {
                        let below = path.strip_prefix(self.directory().join(folder)).unwrap();
                        let below = below.with_extension("");
                        let is_own = below == Path::new("mod");
                        modules.push(Module {
                            layer,
                            path: if is_own { PathBuf::new() } else { below },
                            text: source(&path),
                        });
                    }
                }
            }
        }
        assert!(
            modules.len() > 20,
            "{}: the sources are elsewhere",
            self.name
        );
        modules
    }
}

#[test]
fn imports_point_down() {
    for layers in CRATES {
        let mut imports = 0;
        for Module { layer, path, text } in layers.modules() {
            for name in names_after(&text, "crate::") {
                imports += 1;
                let here = layers.folders[layer];
                let module = path.display();
                let target = layers.layer(&name).unwrap_or_else(|| {
                    panic!("{}: {here}/{module}: no layer `{name}`", layers.name)
                });
                assert!(
                    target <= layer,
                    "{}: {here}/{module} imports from {name}, a layer above",
                    layers.name
                );
            }
        }
        assert!(imports > 50, "{}: {imports} imports", layers.name);
    }
}

#[test]
fn imports_within_bench_and_within_trace_point_down() {
    let tool = CRATES.iter().find(|layers| layers.name == "outpace-cli");
    let tool = tool.unwrap();
    for (folder, levels) in [("bench", BENCH), ("trace", TRACE)] {
        let layer = tool.layer(folder).unwrap();
        let level = |name: &str| levels.iter().position(|level| level.contains(&name));
        let modules = tool
            .modules()
            .into_iter()
            .filter(|module| module.layer == layer);
        for Module { path, text, .. } in modules {
            let Some(first) = path.components().next() else {
                continue;
            };
            let here = first.as_os_str().to_str().unwrap();
            // Tests beside the code, in a file of their own.
            if path.ends_with("conclusions") {
                continue;
            }
            let own = level(here).unwrap_or_else(|| panic!("{folder}: {here} is on no level"));
            for name in names_after(&text, &format!("crate::{folder}::")) {
                let target = level(&name).unwrap_or_else(|| panic!("{folder}: no {name}"));
                assert!(
                    name == here || target < own,
                    "{folder}: {} imports from {name}, which is not below",
                    path.display()
                );
            }
            assert!(
                here != "runner" || !text.contains("crate::trace"),
                "bench: {} knows trace",
                path.display()
            );
        }
    }
}

#[test]
fn imports_within_the_shim_point_down() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim");
    let level = |name: &str| SHIM.iter().position(|level| level.contains(&name));
    for path in files(&directory) {
        // A file for one processor is a part of the module of that name.
        let here = match path.file_stem().unwrap().to_str().unwrap() {
            // The root.
            "shim" => continue,
            "x86_64" | "aarch64" => "machine",
            name => name.split_once("_").map_or(name, |(module, _)| module),
        };
        let own = level(here).unwrap_or_else(|| panic!("shim: {here} is on no level"));
        for name in names_after(&source(&path), "crate::") {
            let target = level(&name).unwrap_or_else(|| panic!("shim: {here}: no module {name}"));
            assert!(
                target < own,
                "shim: {here} imports from {name}, which is not below"
            );
        }
    }
}

#[test]
fn every_module_is_in_a_layer() {
    for layers in CRATES {
        let root = ["lib.rs", "main.rs"].map(|file| layers.directory().join(file));
        let root = root.iter().find(|file| file.exists()).unwrap();
        let mut found = 0;
        for line in source(root).lines() {
            let line = line.trim_start_matches("pub ");
            let module = line.strip_prefix("mod ");
            if let Some(module) = module.and_then(|module| module.strip_suffix(';')) {
                // This one stands beside the layers, for the benches and tests of other crates.
                assert!(
                    layers.layer(module).is_some() || module == "workloads",
                    "{}: {module} is in no layer",
                    layers.name
                );
                found += 1;
            }
        }
        assert!(found >= layers.folders.len(), "{}: {found}", layers.name);
    }
}

#[test]
fn modules_of_a_folder_form_no_cycle() {
    for layers in CRATES {
        // The modules of each folder, each with its imports from siblings.
        let mut folders: BTreeMap<PathBuf, BTreeMap<String, Vec<String>>> = BTreeMap::new();
        for Module { layer, path, text } in layers.modules() {
            let path = Path::new(layers.folders[layer]).join(path);
            // A folder's own file stands for it among the folder's siblings.
            let module = if path.ends_with("mod") {
                path.parent().unwrap()
            } else {
                &path
            };
            // Tests beside the code, in a file of their own.
            if let Some(folder) = module.parent()
                && !module.ends_with("conclusions")
            {
                let name = module.file_name().unwrap().to_str().unwrap();
                // By the short way and by the long one.
                let long = folder.to_str().unwrap().replace('/', "::");
                let mut imports = names_after(&text, "super::");
                imports.extend(names_after(&text, &format!("crate::{long}::")));
                let siblings = folders.entry(folder.to_owned()).or_default();
                siblings.insert(name.to_owned(), imports);
            }
        }
        for (folder, mut imports) in folders {
            let known: Vec<String> = imports.keys().cloned().collect();
            for targets in imports.values_mut() {
                targets.retain(|target| known.contains(target));
            }
            // Modules without an import among those that are left go, until none is left.
            while !imports.is_empty() {
                let left: Vec<String> = imports.keys().cloned().collect();
                imports.retain(|_, targets| targets.iter().any(|name| left.contains(name)));
                assert!(
                    imports.len() < left.len(),
                    "{}/{}: a cycle among {left:?}",
                    layers.name,
                    folder.display()
                );
            }
        }
    }
}

#[test]
fn contributing_draws_the_same_layers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = fs::read_to_string(path).unwrap();
    let trace: Vec<&str> = TRACE.iter().rev().map(|level| level[0]).collect();
    let picture = trace.join(" → ");
    assert!(
        text.contains(&picture),
        "CONTRIBUTING does not say {picture}"
    );
    for layers in CRATES {
        let drawn: Vec<&str> = layers.folders.iter().rev().copied().collect();
        let picture = drawn.join(" → ");
        assert!(
            text.contains(&picture),
            "CONTRIBUTING does not say {picture}"
        );
    }
    for levels in [BENCH, SHIM] {
        let levels: Vec<String> = levels.iter().rev().map(|level| level.join(", ")).collect();
        let picture = levels.join(" → ");
        assert!(
            text.contains(&picture),
            "CONTRIBUTING does not say {picture}"
        );
    }
}

/// The texts between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A tour of CONTRIBUTING's is a list of functions and files. Each has to be there.
#[test]
fn names_in_the_tours_of_contributing_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut tours = 0;
    for tour in text.split("\n##").skip(1) {
        let Some(start) = tour.find("\n1. ") else {
            continue;
        };
        let directories = quoted(tour).filter(|name| name.starts_with("crates/"));
        let files: Vec<PathBuf> = directories
            .flat_map(|directory| files(&root.join(directory)))
            .collect();
        tours += 1;
        let is_code = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "rs");
        let code = files.iter().filter(is_code);
        let code: String = code.map(|file| source(file)).collect();
        for name in quoted(&tour[start..]) {
            let title = tour.lines().next().unwrap();
            // Files, also relative to the one that a step is in; commands and calls of the system are no names.
            if name.ends_with(".rs") {
                let found = files.iter().any(|file| file.ends_with(name));
                assert!(found, "{title}: no file {name}");
                continue;
            }
            let path = name.split("::").collect::<Vec<_>>();
            if path
                .iter()
                .any(|part| part.is_empty() || !part.chars().all(is_name))
            {
                continue;
            }
            for part in path {
                let mut found = code.match_indices(part);
                let is_whole = |(at, _): (usize, &str)| {
                    !code[..at].ends_with(is_name) && !code[at + part.len()..].starts_with(is_name)
                };
                assert!(found.any(is_whole), "{title}: no `{part}` of `{name}`");
            }
        }
    }
    assert!(tours >= 4, "CONTRIBUTING has four tours");
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            files.push(path);
        }
    }
    files
}
