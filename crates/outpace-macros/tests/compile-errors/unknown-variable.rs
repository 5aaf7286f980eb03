fn main() {
    outpace::println!("{missing}");
}
