fn main() {
    let _ = outpace::format!("{");
}
