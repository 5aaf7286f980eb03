struct Late;

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("late")
    }
}

fn main() {
    let show = |value| outpace::println!("{value}");
    show(Late);
}
