# fflush: a write for each line.
BEGIN { for (i = 0; i < ARGV[1]; i++) { print "line " i; fflush() } }
