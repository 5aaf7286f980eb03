// Without a buffer unless one is given.
const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const arguments = try init.minimal.args.toSlice(init.arena.allocator());
    const count = try std.fmt.parseInt(u64, arguments[1], 10);
    const on_stderr = init.environ_map.get("STREAM") != null;
    const mode = init.environ_map.get("MODE") orelse "default";
    const file = if (on_stderr) std.Io.File.stderr() else std.Io.File.stdout();
    var memory: [65536]u8 = undefined;
    const buffer: []u8 = if (std.mem.eql(u8, mode, "fixed")) &memory else memory[0..0];
    var writer = file.writerStreaming(init.io, buffer);
    var i: u64 = 0;
    while (i < count) : (i += 1) {
        try writer.interface.print("line ", .{});
        try writer.interface.print("{d}\n", .{i});
    }
    try writer.interface.flush();
}
