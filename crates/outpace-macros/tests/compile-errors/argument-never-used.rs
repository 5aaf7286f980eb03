fn main() {
    outpace::println!("{}", 1, 2);
}
