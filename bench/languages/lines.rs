// A line, on stderr a write for each fragment; fixed: a BufWriter.
use std::io::{BufWriter, Write, stderr, stdout};

fn main() {
    let lines: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let on_stderr = std::env::var_os("STREAM").is_some();
    if std::env::var_os("MODE").is_some_and(|mode| mode == "fixed") {
        let file: Box<dyn Write> = if on_stderr { Box::new(stderr()) } else { Box::new(stdout()) };
        let mut out = BufWriter::with_capacity(1 << 16, file);
        for i in 0..lines {
            write!(out, "line ").unwrap();
            writeln!(out, "{i}").unwrap();
        }
        return out.flush().unwrap();
    }
    for i in 0..lines {
        if on_stderr {
            eprint!("line ");
            eprintln!("{i}");
        } else {
            print!("line ");
            println!("{i}");
        }
    }
}
