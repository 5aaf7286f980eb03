fn main() {
    outpace::print!("{} {}", 1);
}
