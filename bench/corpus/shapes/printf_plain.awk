# The same without fflush.
BEGIN { for (i = 0; i < ARGV[1]; i++) { printf "%d ", i; printf "%05d\n", i * 37 % 10007 } }
