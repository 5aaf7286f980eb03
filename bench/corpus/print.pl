# print: lines on a terminal, blocks elsewhere.
for my $i (0..$ARGV[0]-1) { print "line $i\n"; }
