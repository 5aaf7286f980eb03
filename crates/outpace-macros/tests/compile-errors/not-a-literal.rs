fn main() {
    let text = "text";
    outpace::println!(text);
}
