// Zig's own interface to stdout changes between its versions; the C library's does not.
extern "c" fn write(descriptor: c_int, bytes: [*]const u8, length: usize) isize;

pub fn main() void {
    const text = "Hello, world!\n";
    _ = write(1, text, text.len);
}
