// printf and a flush; with LARGE neither a flush nor a small buffer: the remedy.
int main (string[] arguments) {
    int lines = int.parse (arguments[arguments.length - 1]);
#if LARGE
    var text = new StringBuilder ();
#endif
    for (int n = 0; n < lines; n++) {
#if LARGE
        text.append_printf ("%d %d\n", n, n % 17);
        if (text.len > 65536) {
            stdout.write (text.data);
            stdout.flush ();
            text.truncate ();
        }
#else
        stdout.printf ("%d %d\n", n, n % 17);
        stdout.flush ();
#endif
    }
#if LARGE
    stdout.write (text.data);
#endif
    return 0;
}
