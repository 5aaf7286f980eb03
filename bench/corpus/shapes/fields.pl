# $|, and a print for each field: four writes a line.
$| = 1;
for my $i (0..$ARGV[0]/4-1) { print $i; print "\t", $i * 3; print "\t", $i % 7; print "\n"; }
