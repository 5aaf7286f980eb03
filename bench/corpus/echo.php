<?php // echo: a write for each, wherever it goes.
$n=(int)$argv[1]; for($i=0;$i<$n;$i++) echo "line $i\n";
