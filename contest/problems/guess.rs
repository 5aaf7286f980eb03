// A guessing game: the judge thinks of a number from 1 to n. "? x" asks whether it is less than x (Yes or No),
// "! x" says which it is.
fn main() {
    let io = &mut io();
    let n: u64 = io.read();
    let (mut low, mut high) = (1, n);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        out!(io, '?', middle);
        let answer: String = io.read(); // what was asked is written before this waits
        if answer == "Yes" {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    out!(io, '!', low);
}
