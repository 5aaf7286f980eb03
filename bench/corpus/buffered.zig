// The same with a buffer of 64 KiB.
const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    const lines = try std.fmt.parseInt(usize, args[1], 10);
    var buffer: [1 << 16]u8 = undefined;
    var out: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    for (0..lines) |i| try out.interface.print("line {d}\n", .{i});
    try out.interface.flush();
}
