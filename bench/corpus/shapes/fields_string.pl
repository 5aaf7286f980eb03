# The same fields collected, and printed in large pieces.
my $out = '';
for my $i (0..$ARGV[0]/4-1) { $out .= $i; $out .= "\t" . $i * 3; $out .= "\t" . $i % 7; $out .= "\n"; print($out), $out = "" if length $out > 65536; }
print $out;
