/// A diff of two made-up texts by longest common subsequences, a line at a time and flushed; told `large`, in a large buffer: the remedy.
import std.conv;
import std.stdio;

string[] make(long lines, uint seed)
{
    string[] text;
    foreach (n; 0 .. lines)
    {
        seed = seed * 1_664_525 + 1_013_904_223;
        text ~= text_of(seed >> 28);
    }
    return text;
}

string text_of(uint n)
{
    return "line of kind " ~ to!string(n);
}

void main(string[] arguments)
{
    immutable large = arguments[1] == "large";
    long left = to!long(arguments[$ - 1]);
    static char[1 << 16] buffer;
    if (large)
        stdout.setvbuf(buffer[]);
    for (uint round = 1; left > 0; round++)
    {
        auto a = make(120, round), b = make(120, round * 77 + 5);
        auto best = new int[121][121];
        foreach_reverse (i; 0 .. 120)
            foreach_reverse (j; 0 .. 120)
                best[i][j] = a[i] == b[j] ? best[i + 1][j + 1] + 1 : best[i + 1][j] > best[i][j + 1] ? best[i + 1][j] : best[i][j + 1];
        int i, j;
        while (i < 120 || j < 120)
        {
            if (i < 120 && j < 120 && a[i] == b[j])
            {
                writeln("  ", a[i]);
                i++;
                j++;
            }
            else if (j == 120 || (i < 120 && best[i + 1][j] >= best[i][j + 1]))
                writeln("- ", a[i++]);
            else
                writeln("+ ", b[j++]);
            left--;
            if (!large)
                stdout.flush();
        }
    }
}
