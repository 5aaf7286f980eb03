# Frequencies of words, written by syswrite a line; told `large`, collected to 64 KiB and written by syswrite: the remedy.
use strict;
use warnings;
my $large = $ARGV[0] eq 'large';
my @words = qw(the quick brown fox jumps over a lazy dog while seven wizards box with liquor jugs);
my (%seen, $text);
$text = '';
my $state = 42;
for my $n (1 .. $ARGV[-1]) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $word = $words[($state >> 8) % @words] . ($state >> 20) % 10;
    $seen{$word}++;
    $text .= sprintf "%7d %-10s %5d %6.3f%%\n", $n, $word, $seen{$word}, 100 * $seen{$word} / $n;
    if (!$large || length $text > 65536) {
        syswrite STDOUT, $text;
        $text = '';
    }
}
syswrite STDOUT, $text if length $text;
