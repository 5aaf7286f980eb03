// Sums of pairs: n, then n lines of two numbers of at most 18 digits; a line for each sum.
fn main() {
    let io = &mut io();
    let n: usize = io.read();
    for _ in 0..n {
        let (a, b): (i64, i64) = io.read();
        out!(io, a + b);
    }
}
