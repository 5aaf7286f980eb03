# print: lines on a terminal, blocks elsewhere.
BEGIN { for (i = 0; i < ARGV[1]; i++) print "line " i }
