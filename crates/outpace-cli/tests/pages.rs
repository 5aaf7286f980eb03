//! Promises of the README and the book: links lead somewhere, commands exist, figures are drawn from the recorded
//! results.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

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
    // As mdbook reads it: titles, and chapters with one link each.
    let is_known = |line: &str| {
        let chapter = line.strip_prefix("- ").unwrap_or(line);
        let is_link = chapter.starts_with('[') && chapter.ends_with(".md)");
        line.is_empty() || line.starts_with("# ") || is_link && links(chapter).len() == 1
    };
    for line in text.lines() {
        assert!(is_known(line), "{line}");
    }
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
        // Prints the rungs, and runs none.
        let list = (!arguments.contains("--list")).then_some("--list");
        let output = Command::new(env!("CARGO_BIN_EXE_outpace"))
            .arg("bench")
            .args(arguments.split_whitespace())
            .args(list)
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

/// A number of a record, as `docs/numbers.txt` names it: `LETTER EXPERIMENT/RUNG@DESTINATION METRIC`, or `LETTER OBJECT/FIELD`.
fn recorded(name: &str, records: &HashMap<&str, Value>) -> f64 {
    let mut words = name.split_whitespace();
    let (record, row) = (words.next().unwrap(), words.next().unwrap());
    let number = |value: &Value| {
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: not there"))
    };
    let (experiment, rung) = row.split_once('/').unwrap();
    let Some((rung, to)) = rung.split_once('@') else {
        return number(&records[record][experiment][rung]);
    };
    let is_meant = |row: &&Value| {
        let is = |key: &str, text: &str| row[key] == text;
        let connections = row["connections"].as_u64().unwrap_or(8);
        is("experiment", experiment) && is("rung", rung) && is("to", to) && connections == 8
    };
    let rows = records[record]["rows"].as_array().unwrap();
    let row = rows.iter().find(is_meant);
    let row = row.unwrap_or_else(|| panic!("{name}: no such row"));
    let each = |value: &Value| number(value) / number(&row["messages"]);
    match words.next() {
        None => each(&row["wall_ns"]["median"]),
        Some("ratio") => number(&row["ratio"]["median"]),
        Some("cpu") => each(&row["cpu_ns"]["median"]),
        Some("caller") => each(&row["caller_ns"]["median"]),
        Some("delivered") => each(&row["delivered_ns"]["median"]),
        Some("call") => number(&row["call_ns"]["median"]),
        Some("p99.9") => number(&row["call_ns"]["p99_9"]),
        Some("fps") => number(&row["fps"]),
        Some("bytes") => number(&row["bytes_per_frame"]),
        Some("writes") => each(&row["writes"]),
        Some("skipped") => {
            let (skipped, shown) = (&row["frames_skipped"], &row["frames_presented"]);
            100.0 * number(skipped) / (number(skipped) + number(shown))
        }
        Some("requests") => number(&row["requests_per_second"]["median"]),
        Some(other) => panic!("{name}: {other} is no metric"),
    }
}

/// Half the value of the last digit that is shown. Zeros at the end of a whole number may be rounded.
fn tolerance(shown: &str) -> f64 {
    let digits = shown.replace(',', "");
    let places = match digits.split_once('.') {
        Some((_, fraction)) => -(fraction.len() as i32),
        None => (digits.len() - digits.trim_end_matches('0').len()) as i32,
    };
    0.5 * 10_f64.powi(places) * 1.000_001
}

#[test]
fn numbers_in_prose_are_those_of_the_records() {
    let list = fs::read_to_string(root().join("docs/numbers.txt")).unwrap();
    let (mut records, mut wrong, mut compared) = (HashMap::new(), Vec::new(), 0);
    for line in list.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((letter, record)) = line.split_once(" = ") {
            let record = fs::read(root().join("bench/results").join(record)).unwrap();
            records.insert(letter, serde_json::from_slice::<Value>(&record).unwrap());
            continue;
        }
        let (page, template) = line.split_once(": ").unwrap();
        let text = fs::read_to_string(root().join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (first, numbers) = template.split_once('{').unwrap();
        // The sentence that begins so and goes on so may stand behind another that begins alike.
        let mut places = text
            .match_indices(first)
            .map(|(at, _)| &text[at + first.len()..]);
        let found = places.find_map(|mut rest| {
            let mut pairs = Vec::new();
            for number in numbers.split('{') {
                let (name, after) = number.split_once('}').unwrap();
                let is_of_number = |c: char| c.is_ascii_digit() || ",.".contains(c);
                let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
                let shown = rest[..end].trim_end_matches([',', '.']);
                rest = rest[shown.len()..].strip_prefix(after)?;
                pairs.push((name, shown));
            }
            Some(pairs)
        });
        let Some(pairs) = found else {
            wrong.push(format!("{page} does not say: {template}"));
            continue;
        };
        for (name, shown) in pairs {
            let (name, unit) = name
                .strip_suffix(" us")
                .map_or((name, 1.0), |name| (name, 1e3));
            let value = match name.split_once(" / ") {
                Some((one, other)) => recorded(one, &records) / recorded(other, &records),
                None => recorded(name, &records) / unit,
            };
            let number: f64 = shown.replace(',', "").parse().unwrap();
            if (number - value).abs() > tolerance(shown) {
                wrong.push(format!("{page}: {shown} is {value:.4} by {name}"));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 120, "{compared} numbers");
}

/// The cells of a row of a table in Markdown.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_matches('|').replace("\\|", "\0");
    let cells = line.split('|').map(|cell| cell.trim().replace('\0', "|"));
    cells.collect()
}

#[test]
fn the_page_of_languages_has_traces_remedies_and_the_records_buffers() {
    /// Languages as the page calls them, with their names for `trace`, and the rung that prints by the language's defaults.
    const LANGUAGES: [(&str, &str, &str); 13] = [
        ("Rust", "Rust", "rust"),
        ("C", "C", "c"),
        ("C++", "C++", "cpp-newline"),
        ("Go", "Go", "go"),
        ("Python", "Python", "python"),
        ("Node", "Node.js", "node"),
        ("Java", "Java", "java"),
        ("Perl", "Perl", "perl"),
        ("Ruby", "Ruby", "ruby"),
        ("PHP", "PHP", "php"),
        ("Lua", "Lua", "lua"),
        ("awk", "awk", "awk"),
        ("bash", "shell", "bash"),
    ];
    let page = fs::read_to_string(root().join("docs/languages.md")).unwrap();
    let rows: HashMap<String, Vec<String>> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| (cells(line)[0].clone(), cells(line)))
        .collect();
    let remedies = include_str!("../src/trace/model/languages.txt");
    let record = fs::read(root().join("bench/results/2026-11-25-bench.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    // Paths are shortened, and spaces may differ.
    let normal = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace("std::io::", "")
    };
    for (name, known_as, rung) in LANGUAGES {
        let [_, terminal, elsewhere, fix] = &rows[name][..] else {
            panic!("{:?}", rows[name]);
        };
        for (to, cell) in [("pty", terminal), ("pipe", elsewhere), ("file", elsewhere)] {
            let mut found = record["rows"].as_array().unwrap().iter();
            let row = found
                .find(|row| {
                    row["experiment"] == "languages" && row["rung"] == rung && row["to"] == to
                })
                .unwrap();
            let writes = row["writes"].as_f64().unwrap() / row["messages"].as_f64().unwrap();
            // A rung prints a line by two calls.
            let word = match writes {
                writes if writes < 0.5 => "block",
                writes if writes < 1.5 => "line",
                _ => "each",
            };
            assert!(
                cell.starts_with(word),
                "{name} to {to}: {cell}, recorded: {writes} writes a line"
            );
        }
        let known: Vec<String> = remedies
            .lines()
            .filter_map(|line| {
                let columns: Vec<&str> = line.splitn(7, '|').collect();
                let place = columns.first()?.trim().strip_prefix(known_as)?;
                let is_of_it = place.is_empty() || place.starts_with([' ', ',']);
                is_of_it.then(|| columns.get(6).map(|text| normal(text)))?
            })
            .collect();
        assert!(!known.is_empty(), "{known_as} is not in languages.txt");
        for code in fix.split('`').skip(1).step_by(2) {
            let is_known = known.iter().any(|text| text.contains(&normal(code)));
            assert!(is_known, "{name}: trace does not name {code}: {known:?}");
        }
    }
}

#[test]
fn each_crate_has_the_licences() {
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let copy = fs::read(folder.as_ref().unwrap().path().join(name)).unwrap();
            assert_eq!(copy, fs::read(root().join(name)).unwrap(), "{folder:?}");
        }
    }
}
