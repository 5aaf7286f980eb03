# $|: a write for each print.
$|=1;
for my $i (0..$ARGV[0]-1) { print "line $i\n"; }
