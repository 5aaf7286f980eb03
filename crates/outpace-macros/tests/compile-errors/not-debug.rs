struct Plain;

fn main() {
    let plain = Plain;
    outpace::println!("{plain:?}");
}
