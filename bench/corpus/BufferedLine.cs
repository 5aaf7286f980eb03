// The same with a buffer.
using System;
using System.IO;

class BufferedLine {
    static void Main(string[] arguments) {
        Console.SetOut(new StreamWriter(Console.OpenStandardOutput(), Console.Out.Encoding, 1 << 16));
        for (int n = 0; n < int.Parse(arguments[0]); n++) Console.WriteLine("line {0}", n);
        Console.Out.Flush();
    }
}
