# The text is collected, and printed in large pieces.
my $out='';
for my $i (0..$ARGV[0]-1) { $out .= "line $i\n"; print($out), $out = "" if length $out > 65536; } print $out;
