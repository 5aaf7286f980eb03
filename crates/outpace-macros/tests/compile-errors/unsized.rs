fn main() {
    let text = String::from("a text");
    outpace::println!("{}", *text);
    outpace::println!("{:?}", [1, 2][..]);
}
