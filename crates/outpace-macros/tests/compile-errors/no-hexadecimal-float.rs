fn main() {
    let _ = outpace::format!("{:x}", 1.5);
}
