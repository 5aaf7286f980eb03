<?php // echo in pieces: a write for each of four; told `large`, with an output buffer: the remedy.
if ($argv[1] === 'large') ob_start(null, 65536);
$n = (int)end($argv) / 4;
for ($i = 0; $i < $n; $i++) { echo 'row '; echo $i; echo ' of ', "many\n"; }
