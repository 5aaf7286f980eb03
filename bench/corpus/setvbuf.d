// A large buffer of stdio.
import std.stdio, std.conv; void main(string[] a) { stdout.setvbuf(65536); foreach (i; 0 .. a[1].to!int) writeln("line ", i); }
