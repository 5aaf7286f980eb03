struct Plain;

fn main() {
    outpace::println!("{:?} {:#x} {:>5}", 1, 2, Plain);
}
