# Sums of fields by sprintf, with $|; told `large`, collected and printed at every 64 KiB: the remedy.
my ($how, $lines) = @ARGV;
$| = $how ne 'large';
my ($sum, $out) = (0, '');
for my $n (1 .. $lines) {
    $sum += $n % 13;
    my $line = sprintf("%08d %6.2f %s\n", $n, $sum / $n, join(',', map { $n % $_ } 2 .. 6));
    if ($how eq 'large') {
        $out .= $line;
        print($out), $out = '' if length $out > 65536;
    } else {
        print $line;
    }
}
print $out;
