# printf without and with a line end, and fflush after both.
BEGIN { for (i = 0; i < ARGV[1]; i++) { printf "%d ", i; printf "%05d\n", i * 37 % 10007; fflush() } }
