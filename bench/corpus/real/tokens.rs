//! A tokenizer of a small language that prints each token with println!; told `large`, into a BufWriter: the remedy.
use std::io::Write;

fn source(lines: u64) -> String {
    let mut text = String::new();
    for n in 0..lines {
        text += &format!("let value_{n} = (x{} + {}) * \"text {}\"; // {n}\n", n % 7, n * 31 % 1009, n % 13);
    }
    text
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lines: u64 = words.last().unwrap().parse().unwrap();
    let large = words[0] == "large";
    let text = source(lines / 6);
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let from = at;
        let kind = match bytes[at] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b' ' => {
                at += 1;
                continue;
            }
            b'a'..=b'z' => {
                while bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
                    at += 1;
                }
                if &text[from..at] == "let" { "keyword" } else { "name" }
            }
            b'0'..=b'9' => {
                while bytes[at].is_ascii_digit() {
                    at += 1;
                }
                "number"
            }
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += 1;
                }
                at += 1;
                "string"
            }
            b'/' => {
                while bytes[at] != b'\n' {
                    at += 1;
                }
                "comment"
            }
            _ => {
                at += 1;
                "mark"
            }
        };
        if large {
            writeln!(out, "{line}: {kind} {}", &text[from..at]).unwrap();
        } else {
            println_to(&mut out, line, kind, &text[from..at]);
        }
    }
    out.flush().unwrap();
}

fn println_to(out: &mut std::io::BufWriter<std::io::StdoutLock<'static>>, line: u64, kind: &str, token: &str) {
    writeln!(out.get_mut(), "{line}: {kind} {token}").unwrap();
}
