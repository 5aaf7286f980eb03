struct Late;

fn main() {
    let show = |value| outpace::println!("{value}");
    show(Late);
}
