<?php // printf of rows with some work; told `large`, with an output buffer: the remedy.
if ($argv[1] === 'large') ob_start(null, 65536);
$n = (int)end($argv) / 2;
for ($i = 0; $i < $n; $i++) { $h = md5((string)$i); printf("%6d %s\n", $i, $h); print str_repeat('-', $i % 40) . "\n"; }
