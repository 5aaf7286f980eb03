# On a terminal a line, elsewhere a block, with $| a write for each print; fixed: joined.
my $out = $ENV{STREAM} ? *STDERR : *STDOUT;
my $mode = $ENV{MODE} // '';
select $out;
$| = 1 if $mode eq 'autoflush';
my $text = '';
for (my $i = 0; $i < $ARGV[0]; $i++) {
    if ($mode eq 'fixed') {
        $text .= 'line ';
        $text .= "$i\n";
        if (length $text >= 65536) { print $text; $text = ''; }
    } else {
        print 'line ';
        print "$i\n";
    }
}
print $text;
