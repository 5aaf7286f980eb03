# A report by gawk: letters of words into a grid, a letter at a time, flushed; without small=1 not flushed: the remedy.
BEGIN {
    lines = ARGV[ARGC - 1]
    for (n = 0; n < lines; n++) {
        letter = substr("abcdefghijklmnopqrstuvwxyz", (n * n + 3 * n) % 26 + 1, 1)
        printf "%s", n % 40 == 39 ? letter "\n" : letter " "
        if (small) fflush()
    }
    printf "\n"
}
