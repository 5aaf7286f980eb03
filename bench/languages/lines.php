<?php // A write for each echo; fixed: ob_start.
if (getenv('MODE') === 'fixed') ob_start(null, 65536);
$stderr = getenv('STREAM') !== false;
for ($i = 0, $lines = (int)$argv[1]; $i < $lines; $i++) {
    if ($stderr) {
        fwrite(STDERR, 'line ');
        fwrite(STDERR, "$i\n");
    } else {
        echo 'line ';
        echo "$i\n";
    }
}
