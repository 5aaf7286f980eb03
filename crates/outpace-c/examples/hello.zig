// zig translate-c -lc -I PREFIX/include PREFIX/include/outpace.h > outpace.zig
// zig build-exe hello.zig -lc -L PREFIX/lib -loutpace_c
const std = @import("std");
const outpace = @import("outpace.zig");

pub fn main() !void {
    const stdout = outpace.outpace_stdout();
    for (0..100_000) |i| {
        var text: [64]u8 = undefined;
        const line = try std.fmt.bufPrint(&text, "line {d}\n", .{i});
        _ = outpace.outpace_write(stdout, line.ptr, line.len); // a message: no system call, seen within 4 ms
    }
    if (outpace.outpace_flush(stdout) != 0) return error.NotWritten;
}
