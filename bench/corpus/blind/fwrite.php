<?php
// fwrite(STDOUT) of three pieces a line; told `large`, of many lines at once: the remedy.
$lines = intdiv((int) end($argv), 2);
$large = $argv[1] === 'large';
$text = '';
for ($n = 0; $n < $lines; $n++) {
    if ($large) {
        $text .= 'line ' . $n . "\n";
        if (strlen($text) > 65536) {
            fwrite(STDOUT, $text);
            $text = '';
        }
    } else {
        fwrite(STDOUT, 'line ');
        fwrite(STDOUT, (string) $n);
        fwrite(STDOUT, "\n");
    }
}
fwrite(STDOUT, $text);
