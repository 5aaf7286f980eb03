//! The demands of the Firefox Profiler on a profile: the types in its `src/types/profile.ts`, as of the
//! version that the profile names, checked reference by reference.
// Several test programs share this, and none uses all of it.
#![allow(dead_code)]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The version whose types are checked here (docs-developer/CHANGELOG-formats.md).
const VERSION: u64 = 55;

fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("not a list: {value}"))
}

/// A table is a `length` and columns of that length; the columns that must be there are named.
fn assert_table(name: &str, table: &Value, columns: &[&str]) -> usize {
    let length = table["length"]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} has no length")) as usize;
    for column in columns {
        assert!(table[*column].is_array(), "{name}.{column} is missing");
    }
    for (column, values) in table.as_object().unwrap() {
        if let Some(values) = values.as_array() {
            assert_eq!(values.len(), length, "{name}.{column}");
        }
    }
    length
}

/// Every value of a column that is not null lies below a bound.
fn assert_indices(name: &str, column: &Value, below: usize) {
    for value in list(column).iter().filter(|value| !value.is_null()) {
        let index = value.as_i64().unwrap_or_else(|| panic!("{name}: {value}"));
        assert!(
            (0..below as i64).contains(&index),
            "{name}: {index} of {below}"
        );
    }
}

/// Times are milliseconds since the start, and never go back.
fn assert_times(name: &str, column: &Value) {
    let times: Vec<f64> = list(column)
        .iter()
        .map(|time| time.as_f64().unwrap_or_else(|| panic!("{name}: {time}")))
        .collect();
    assert!(times.iter().all(|time| *time >= 0.0), "{name}");
    assert!(times.is_sorted(), "{name}");
}

/// Sums of differences, as the profiler calculates them.
fn summed(deltas: &Value) -> Value {
    let mut sum = 0.0;
    list(deltas)
        .iter()
        .map(|delta| {
            sum += delta.as_f64().unwrap();
            sum
        })
        .collect()
}

fn times_of(table: &Value) -> Value {
    if table["time"].is_array() {
        table["time"].clone()
    } else {
        summed(&table["timeDeltas"])
    }
}

/// Panics, and names the place, unless the profile is of these types.
pub(crate) fn assert_well_formed(profile: &Value) {
    let meta = &profile["meta"];
    for field in ["interval", "startTime", "processType", "version"] {
        assert!(meta[field].is_number(), "meta.{field} of {meta}");
    }
    assert!(
        meta["product"].is_string() && meta["symbolicated"].is_boolean(),
        "{meta}"
    );
    assert_eq!(
        meta["preprocessedProfileVersion"], VERSION,
        "another version has other types"
    );
    let categories = list(&meta["categories"]);
    assert!(
        categories
            .iter()
            .any(|category| category["color"] == "grey"),
        "one has to be the default"
    );
    for category in categories {
        assert!(!list(&category["subcategories"]).is_empty(), "{category}");
    }
    let threads = list(&profile["threads"]);
    assert!(
        !threads.is_empty(),
        "a profile without a thread does not load"
    );
    let mut ids: Vec<&str> = threads
        .iter()
        .map(|thread| thread["tid"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(
        ids.len(),
        threads.len(),
        "threads have numbers of their own"
    );
    for thread in threads {
        assert_thread(thread, categories.len(), list(&meta["markerSchema"]));
    }
    for counter in list(&profile["counters"]) {
        for field in ["name", "category", "description", "pid"] {
            assert!(counter[field].is_string(), "{field} of {counter}");
        }
        let main = counter["mainThreadIndex"].as_u64().unwrap() as usize;
        assert_eq!(threads[main]["pid"], counter["pid"]);
        assert_table("counter.samples", &counter["samples"], &["count"]);
        assert_times("counter.samples", &times_of(&counter["samples"]));
    }
}

fn assert_thread(thread: &Value, categories: usize, schemas: &[Value]) {
    for field in ["name", "processType", "processName", "pid"] {
        assert!(thread[field].is_string(), "{field} of a thread");
    }
    for field in ["registerTime", "processStartupTime"] {
        assert!(thread[field].is_number(), "{field} of a thread");
    }
    assert!(thread["isMainThread"].is_boolean());
    let strings = list(&thread["stringArray"]).len();
    let columns = [
        "address",
        "inlineDepth",
        "category",
        "subcategory",
        "func",
        "nativeSymbol",
    ];
    let frames = assert_table("frameTable", &thread["frameTable"], &columns);
    let columns = ["name", "isJS", "resource", "fileName", "lineNumber"];
    let functions = assert_table("funcTable", &thread["funcTable"], &columns);
    let stacks = assert_table("stackTable", &thread["stackTable"], &["frame", "prefix"]);
    assert_table(
        "nativeSymbols",
        &thread["nativeSymbols"],
        &["libIndex", "address", "name"],
    );
    assert_table(
        "resourceTable",
        &thread["resourceTable"],
        &["lib", "name", "host", "type"],
    );
    assert_indices("funcTable.name", &thread["funcTable"]["name"], strings);
    assert_indices("frameTable.func", &thread["frameTable"]["func"], functions);
    assert_indices(
        "frameTable.category",
        &thread["frameTable"]["category"],
        categories,
    );
    assert_indices("stackTable.frame", &thread["stackTable"]["frame"], frames);
    for (index, prefix) in list(&thread["stackTable"]["prefix"]).iter().enumerate() {
        // A caller comes before those it calls.
        assert!(prefix.is_null() || prefix.as_u64().unwrap() < index as u64);
    }
    let samples = &thread["samples"];
    assert_table("samples", samples, &["stack"]);
    assert_indices("samples.stack", &samples["stack"], stacks);
    assert_times("samples.time", &times_of(samples));
    let markers = &thread["markers"];
    let columns = ["category", "data", "endTime", "name", "phase", "startTime"];
    assert_table("markers", markers, &columns);
    assert_indices("markers.name", &markers["name"], strings);
    assert_indices("markers.category", &markers["category"], categories);
    let times = list(&markers["startTime"])
        .iter()
        .zip(list(&markers["endTime"]));
    for (start, end) in times {
        assert!(start.as_f64().unwrap() <= end.as_f64().unwrap());
    }
    for data in list(&markers["data"]) {
        let schema = schemas.iter().find(|schema| schema["name"] == data["type"]);
        let fields = list(&schema.unwrap_or_else(|| panic!("no schema for {data}"))["fields"]);
        for key in data
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "type")
        {
            assert!(
                fields.iter().any(|field| field["key"] == **key),
                "{key} has no schema"
            );
        }
    }
}

/// The calls of all markers on the tracks of a stream.
pub(crate) fn calls_on(profile: &Value, stream: &str) -> u64 {
    let threads = list(&profile["threads"]).iter();
    let of_stream = threads.filter(|thread| thread["name"].as_str().unwrap().starts_with(stream));
    of_stream
        .flat_map(|thread| list(&thread["markers"]["data"]))
        .map(|data| data["calls"].as_f64().unwrap() as u64)
        .sum()
}

/// The output of the profiler's own command line about a profile, where that is installed
/// (`npm install --global @firefox-devtools/profiler-cli`).
pub(crate) fn loaded_by_the_profiler(profile: &Path) -> Option<String> {
    let session = format!("outpace-{}", std::process::id());
    let ask = |arguments: &[&str]| {
        let output = Command::new("profiler-cli").args(arguments).output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        Some((
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        ))
    };
    ask(&["--version"])?;
    let (loads, said) = ask(&["load", "--session", &session, profile.to_str()?])?;
    assert!(loads, "{said}");
    let (_, information) = ask(&["profile", "info", "--session", &session])?;
    ask(&["stop", &session])?;
    Some(information)
}
