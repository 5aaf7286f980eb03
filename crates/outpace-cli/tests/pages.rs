//! What the README and the book promise: links that lead somewhere, commands that exist, figures that were drawn from the
//! recorded results.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// All Markdown of the repository.
fn pages() -> Vec<PathBuf> {
    let (mut folders, mut pages) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_made = path.join("CACHEDIR.TAG").exists() || name == "node_modules";
                if !is_made && !name.starts_with('.') && !path.is_symlink() {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 20, "too few: {pages:?}");
    pages
}

/// The text without blocks of code.
fn prose(page: &Path) -> String {
    let (mut text, mut code) = (String::new(), false);
    for line in fs::read_to_string(page).unwrap().lines() {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if !code && !fence {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// The anchors that a page's headings get.
fn anchors(page: &Path) -> HashSet<String> {
    let text = prose(page);
    let headings = text.lines().filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim().to_lowercase())
    });
    let anchor = |title: String| {
        let kept = title
            .chars()
            .filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// How a page that is shown elsewhere, too, names files of this repository.
const OWN: [&str; 3] = [
    "https://github.com/outpace-rs/outpace/blob/main/",
    "https://github.com/outpace-rs/outpace/tree/main/",
    "https://raw.githubusercontent.com/outpace-rs/outpace/main/",
];

fn links(text: &str) -> Vec<&str> {
    let starts = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    starts
        .filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
        .collect()
}

#[test]
fn links_lead_to_a_file_and_its_heading() {
    let mut dead = Vec::new();
    for page in pages() {
        let text = prose(&page);
        for link in links(&text) {
            // Addresses elsewhere, and names that rustdoc resolves.
            let is_own = OWN.iter().any(|prefix| link.starts_with(prefix));
            if link.contains("://") && !is_own || link.starts_with("mailto:") || link.contains("::")
            {
                continue;
            }
            let own = OWN.iter().find_map(|prefix| link.strip_prefix(prefix));
            let (path, anchor) = own
                .unwrap_or(link)
                .split_once('#')
                .unwrap_or((own.unwrap_or(link), ""));
            let is_rustdoc = page.ends_with("endings.md") || page.ends_with("sandboxes.md");
            if is_rustdoc {
                continue;
            }
            let target = match path {
                "" => page.clone(),
                path if own.is_some() => root().join(path),
                path => page.parent().unwrap().join(path),
            };
            let leads = target.exists()
                && (anchor.is_empty() || target.is_dir() || anchors(&target).contains(anchor));
            if !leads {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "these lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn the_books_summary_lists_every_page_once() {
    let docs = root().join("docs");
    let text = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut listed = links(&text);
    listed.sort_unstable();
    let mut found: Vec<_> = fs::read_dir(&docs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    found.sort();
    assert_eq!(listed, found);
}

/// The lines in blocks of code that begin with `outpace`, without comments.
fn commands() -> Vec<(PathBuf, String)> {
    let mut commands = Vec::new();
    for page in pages() {
        let mut code = false;
        for line in fs::read_to_string(&page).unwrap().lines() {
            code ^= line.trim_start().starts_with("```");
            let command = line.split(" # ").next().unwrap().trim();
            if code && command.starts_with("outpace ") {
                commands.push((page.clone(), command.to_owned()));
            }
        }
    }
    commands
}

#[test]
fn benches_that_the_pages_name_exist() {
    let mut tried = 0;
    for (page, command) in commands() {
        let Some(arguments) = command.strip_prefix("outpace bench ") else {
            continue;
        };
        // Says what it would compare, and runs nothing.
        let output = Command::new(env!("CARGO_BIN_EXE_outpace"))
            .arg("bench")
            .args(arguments.split_whitespace())
            .arg("--hyperfine")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}: {command}: {said}",
            page.display()
        );
        tried += 1;
    }
    assert!(tried >= 10, "{tried} commands");
}

#[test]
fn the_script_that_types_every_command_knows_those_of_the_pages() {
    let script = root().join("docs/commands.py");
    let Ok(output) = Command::new("python3").arg(script).arg("--list").output() else {
        println!("skipped: python3 is not installed");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let listed = String::from_utf8(output.stdout).unwrap();
    let typed_there = [
        "README.md",
        "bench/README.md",
        "docs/",
        "crates/outpace-ratatui/README.md",
    ];
    for (page, command) in commands() {
        let page = page.strip_prefix(root()).unwrap().display().to_string();
        let has_placeholder = command.contains("FILE") || command.contains('…');
        if typed_there.iter().any(|place| page.starts_with(place)) && !has_placeholder {
            assert!(
                listed.contains(&format!("{page}: {command}")),
                "{page}: {command}"
            );
        }
    }
    assert!(listed.lines().count() > 50, "{listed}");
}

#[test]
fn figures_are_those_of_the_recorded_results() {
    let figures = root().join("docs/figures");
    let made = env::temp_dir().join(format!("outpace-figures-{}", std::process::id()));
    let script = root().join("docs/figures.py");
    let Ok(status) = Command::new("python3").arg(script).arg(&made).status() else {
        println!("skipped: python3 is not installed");
        return;
    };
    assert!(status.success());
    let mut names: Vec<_> = fs::read_dir(&made)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    for name in &names {
        let same = fs::read(made.join(name)).unwrap() == fs::read(figures.join(name)).unwrap();
        assert!(same, "{name:?} is old: run docs/figures.py");
    }
    assert_eq!(names.len(), fs::read_dir(&figures).unwrap().count());
    fs::remove_dir_all(made).unwrap();
}

#[test]
fn each_crate_has_the_licences() {
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let copy = fs::read(folder.as_ref().unwrap().path().join(name));
            assert_eq!(copy.ok(), fs::read(root().join(name)).ok(), "{folder:?}");
        }
    }
}
