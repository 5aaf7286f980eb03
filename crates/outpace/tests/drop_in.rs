//! Whole programs of other editions with outpace's macros, beside the same programs with std's: they print the same,
//! and the compiler says the same of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A package that depends on outpace.
struct Package {
    manifest: PathBuf,
    target: PathBuf,
    name: String,
}

impl Package {
    fn new(name: &str, edition: &str, source: &str) -> Package {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drop-in");
        let root = directory.join(name);
        std::fs::create_dir_all(root.join("src")).unwrap();
        let library = Path::new(env!("CARGO_MANIFEST_DIR"));
        let contents = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\n[workspace]\n\n\
             [dependencies]\noutpace = {{ path = {library:?} }}\n\n[profile.dev]\ndebug = false\n"
        );
        let manifest = root.join("Cargo.toml");
        std::fs::write(&manifest, contents).unwrap();
        let lock = library.join("../../Cargo.lock");
        if !root.join("Cargo.lock").exists() && lock.exists() {
            std::fs::copy(lock, root.join("Cargo.lock")).unwrap();
        }
        std::fs::write(root.join("src/main.rs"), source).unwrap();
        Package {
            manifest,
            target: directory.join("target"),
            name: name.to_string(),
        }
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .args(arguments)
            .args(["--offline", "--manifest-path"])
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .output()
            .unwrap()
    }

    /// The program's output, by outpace's macros or by std's.
    fn printed(&self, by: &str) -> (String, String) {
        let program = self.target.join("debug").join(&self.name);
        let program = program.with_extension(std::env::consts::EXE_EXTENSION);
        let output = Command::new(program).arg(by).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// The compiler's messages about the program: place, kind and text.
    fn said(&self) -> Vec<String> {
        let output = self.cargo(&["check", "--quiet", "--message-format=short"]);
        let said = String::from_utf8(output.stderr).unwrap();
        let lines = said.lines().filter(|line| line.starts_with("src"));
        // The rest are labels, which name format_args! where that is called.
        let without_label = |line: &str| line.split(": ").take(3).collect::<Vec<_>>().join(": ");
        lines
            .map(|line| without_label(&line.replace("outpace::__private::", "")))
            .collect()
    }
}

const PROGRAM: &str = r##"
#[allow(unused_imports)]
#[macro_use]
extern crate outpace;

use std::fmt::{self, Write as _};
use std::io::Write as _;

struct Foreign(i32);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "<{}>{}</{:?}>", self.0, "x", Some(self.0))
    }
}

struct Fails;

impl fmt::Display for Fails {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        Err(fmt::Error)
    }
}

macro_rules! line {
    ($ours:ident $($arguments:tt)*) => {
        if $ours {
            println!($($arguments)*);
            print!($($arguments)*);
            eprintln!($($arguments)*);
            eprint!($($arguments)*);
            println!("{}", format!($($arguments)*));
            let mut text = String::new();
            writeln!(text, $($arguments)*).unwrap();
            write!(text, $($arguments)*).unwrap();
            println!("{}", text);
            write!(outpace::stdout(), $($arguments)*).unwrap();
            let mut guard = outpace::stdout().lock();
            writeln!(guard, $($arguments)*).unwrap();
        } else {
            std::println!($($arguments)*);
            std::print!($($arguments)*);
            std::eprintln!($($arguments)*);
            std::eprint!($($arguments)*);
            std::println!("{}", std::format!($($arguments)*));
            let mut text = String::new();
            std::writeln!(text, $($arguments)*).unwrap();
            std::write!(text, $($arguments)*).unwrap();
            std::println!("{}", text);
            std::write!(std::io::stdout(), $($arguments)*).unwrap();
            let out = std::io::stdout();
            let mut guard = out.lock();
            std::writeln!(guard, $($arguments)*).unwrap();
        }
    };
}

macro_rules! sum {
    ($ours:ident $a:expr, $b:expr) => { line!($ours "{} {:?}", $a * $b, $a) };
}

fn main() {
    let ours = std::env::args().nth(1).as_deref() == Some("outpace");
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or(info.payload().downcast_ref().cloned());
        std::io::stderr().write_all(format!("panic: {:?}\n", text).as_bytes()).unwrap();
    }));
    let (name, f) = (String::from("name"), Foreign(7));
    for i in [0_u64, 7, 9_999, 10_000, 99_999_999, 100_000_000, u64::MAX] {
        let (n, small, x) = (-(i as i64 / 2), i as u8, i as f64 / 16.0);
        line!(ours "{}", i);
        line!(ours "n = {}!", n);
        line!(ours "{}", x);
        line!(ours "{}", x as f32);
        line!(ours "{} {}", i, small);
        line!(ours "{}{}", n, i);
        line!(ours "{} {} {}", i, i % 5 == 0, 'é');
        line!(ours "{} {} {}", i, i, small);
        line!(ours "{} {} {} {}", i, small, i, i);
        line!(ours "{} {} {} {}", x, n, 'c', false);
        line!(ours "{}/{}/{}", x, x, i as i128 - 5);
        line!(ours "{}: {}", name, i);
        line!(ours "a text of more than sixteen bytes: {}", i);
        line!(ours "{} {:>30} {:<5}| {:?} {:#x} {:e}", name, n, i, name, i, x);
        line!(ours "{} {} {:>9} {0}", f, i, &f);
    }
    for flag in [true, false] {
        line!(ours "{}", flag);
        line!(ours "{}", if flag { 'a' } else { '😀' });
    }
    line!(ours "{}", name);
    line!(ours "{}", f);
    line!(ours "literal {{}}");
    line!(ours "a literal of more bytes than what is copied at once, whatever its length");
    line!(ours "{:?} {:?}", (1, "x"), [Some(1.5), None]);
    line!(ours "{x:>w$.p$} {}", 1, x = 1.23456, w = 9, p = 2);
    sum!(ours 1 + 2, 3 + 4);
    let text = if ours { format!("{}", "1.2.3.4".parse::<std::net::Ipv4Addr>().unwrap()) } else { "1.2.3.4".into() };
    line!(ours "{}", text);
    let failed = std::panic::catch_unwind(|| if ours { println!("{}", Fails) } else { std::println!("{}", Fails) });
    assert!(failed.is_err());
    let failed = std::panic::catch_unwind(|| {
        if ours { eprintln!("{} {:?} {:x}", Fails, 1, 2) } else { std::eprintln!("{} {:?} {:x}", Fails, 1, 2) }
    });
    assert!(failed.is_err());
    std::panic::set_hook(Box::new(|_| {}));
    if ours { outpace::stdout().flush().unwrap(); } else { std::io::stdout().flush().unwrap(); }
}
"##;

#[test]
fn programs_of_every_edition_print_the_same() {
    for edition in ["2018", "2021", "2024"] {
        let package = Package::new(&format!("edition-{edition}"), edition, PROGRAM);
        let built = package.cargo(&["build", "--quiet"]);
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(
            built.status.success() && said.is_empty(),
            "{edition}: {said}"
        );
        let (ours, theirs) = (package.printed("outpace"), package.printed("std"));
        for (ours, theirs) in [(ours.0, theirs.0), (ours.1, theirs.1)] {
            for (i, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
                assert_eq!(ours, theirs, "{edition}, line {i}");
            }
            assert_eq!(ours.len(), theirs.len(), "{edition}");
        }
    }
}

/// The compiler's messages about a source with these macros, and with std's.
fn said_of(name: &str, source: &str) -> [Vec<String>; 2] {
    let ours = "#[allow(unused_imports)] use outpace::{eprint, eprintln, format, print, println, write, writeln};";
    let of = |suffix: &str, first: &str| {
        Package::new(
            &format!("{name}-{suffix}"),
            "2021",
            &format!("{first}\n{source}"),
        )
        .said()
    };
    [of("outpace", ours), of("std", "")]
}

#[test]
fn lints_are_those_of_std() {
    let [ours, theirs] = said_of(
        "lints",
        r#"
        use std::fmt::Write as _;
        fn main() {
            let (a, unused) = (1, 2);
            format!("{a}");
            format!("literal");
            println!("{}", x = a);
            println!("{} {x}", x = a);
            eprintln!("{0} {x:>5}", x = a);
            let mut s = String::new();
            write!(s, "{}", 1);
            writeln!(s, "literal");
            let mut never_changed = String::new();
            println!("{never_changed} {}", unsafe { 1 });
            #[deprecated] fn old() -> i32 { 1 }
            print!("{} {:?}", old(), old());
        }
        "#,
    );
    assert_eq!(ours, theirs);
    assert_eq!(theirs.len(), 12, "{theirs:#?}");
}

#[test]
fn errors_are_those_of_std_and_come_once() {
    let [ours, theirs] = said_of(
        "errors",
        r#"
        use std::fmt::Write as _;
        struct Plain;
        fn plain() -> Plain { Plain }
        fn generic<T>(value: T) { println!("{}", value) }
        fn main() {
            let mut s = String::new();
            println!("{}", plain());
            println!("a {} b {:?}", 1, Plain);
            println!("{:#x} {}", "a", 1);
            eprintln!("{:>5}", Plain);
            let _ = format!("{:?} {:#?} {}", 1, Plain, 2);
            let _ = write!(s, "{}", Plain);
            let _ = write!(s, "{} {:>5} {:?}", 1, 2, Plain);
            let _ = writeln!(s, "{:x}", 1.5);
            let show = |value| println!("{value}", value = value);
            show(Plain);
            println!("{} {:1$}", 1, "width");
            let moved = String::new();
            drop(moved);
            println!("{}", moved);
            print!("{} {}", 1, s, unknown_function());
        }
        "#,
    );
    assert_eq!(ours, theirs);
    assert!(theirs.len() >= 10, "{theirs:#?}");
    let [ours, theirs] = said_of(
        "moves",
        r#"
        fn main() {
            let moved = String::new();
            drop(moved);
            println!("{}", moved);
            let mut changed = 1;
            println!("{} {}", changed, { changed += 1; changed });
            let text = { let local = String::new(); &*local };
            println!("{}", text);
            let late;
            println!("{:?}", late);
            late = 1;
        }
        "#,
    );
    assert_eq!(ours, theirs);
    assert!(theirs.len() >= 4, "{theirs:#?}");
}

#[test]
fn malformed_calls_fail_as_with_std() {
    let [ours, theirs] = said_of(
        "malformed",
        r##"
        fn main() {
            format!("{}");
            format!("{1}", 1);
            format!("{} {value} {} {}", 1, value=2);
            format!("", 1, 2);
            format!("{foo}", 1, foo=2);
            format!("{foo}", foo=1, foo=2);
            format!("{foo} {} {}", foo=1, 2);
            format!("foo } bar");
            format!("foo %s baz", "bar");
            println!("{} {:.*} {}", 1, 3.2, 4);
            println!("{:foo}", 1);
            println!("{5} {:4$} {6:7$}", 1);
            println!("{:.*}");
            println!("Hello, world! {0:}<3", 2);
            println!("It is {r#type}");
            println!(concat!("{r#", "type}"));
            format!(123);
            format!("s" "ss");
            format!();
            print!();
            write!();
            write!(1);
            println!("a.b: {a.b}");
            eprintln!("{:>8q}", 1);
        }
        "##,
    );
    assert_eq!(ours, theirs);
    assert!(theirs.len() > 20, "{theirs:#?}");
}
