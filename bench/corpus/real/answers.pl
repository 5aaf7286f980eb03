# Reads a question a line, prompts, and answers it, with $| set; told `large`, the answers are collected: the remedy.
use strict;
use warnings;
my ($how, $many) = @ARGV;
my $large = $how eq 'large';
$| = 1;
my $text = '';
sub say_it {
    return print @_ if !$large;
    $text .= join '', @_;
    if (length $text > 65536) {
        print $text;
        $text = '';
    }
}
while (my $line = <STDIN>) {
    last if $. > $many;
    say_it("? ");
    my ($a, $what, $b) = split ' ', $line;
    say_it($what eq '+' ? $a + $b : $a * $b);
    say_it("\n");
}
print $text;
