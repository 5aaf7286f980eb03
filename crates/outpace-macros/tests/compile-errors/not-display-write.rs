use std::fmt::Write;

struct Plain;

fn main() {
    let mut s = String::new();
    let _ = outpace::write!(s, "{} {:>5}", 1, Plain);
}
