// A write for each print: the writer has no buffer.
const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    const lines = try std.fmt.parseInt(usize, args[1], 10);
    var out: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &.{});
    for (0..lines) |i| try out.interface.print("line {d}\n", .{i});
}
