// Console.WriteLine: a write for each line.
using System;

class WriteLine {
    static void Main(string[] arguments) {
        for (int n = 0; n < int.Parse(arguments[0]); n++) Console.WriteLine("line {0}", n);
    }
}
