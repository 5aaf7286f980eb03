<?php // The same, collected by an output buffer.
ob_start(null, 65536); $n=(int)$argv[1]; for($i=0;$i<$n;$i++) echo "line $i\n";
