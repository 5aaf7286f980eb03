// flush: a write for each line.
import std.stdio, std.conv; void main(string[] a) { foreach (i; 0 .. a[1].to!int) { writeln("line ", i); stdout.flush(); } }
