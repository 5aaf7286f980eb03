struct Plain;

fn main() {
    outpace::println!("{}", Plain);
}
