# On a terminal a line, elsewhere a block; MODE=fflush flushes a line, as many scripts do.
BEGIN {
    out = ENVIRON["STREAM"] != "" ? "/dev/stderr" : "/dev/stdout"
    mode = ENVIRON["MODE"]
    for (i = 0; i < ARGV[1]; i++) {
        printf "line " > out
        print i > out
        if (mode == "fflush") fflush(out)
    }
    exit
}
