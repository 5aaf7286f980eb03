<?php
// A catalogue by PHP's own templates: inline text and short echoes; told `large`, with an output buffer: the remedy.
if ($argv[1] === 'large') ob_start(null, 65536);
$rows = (int)end($argv) / 6;
for ($n = 0; $n < $rows; $n++):
$colours = ['red', 'green', 'blue'];
?>
<article id="<?= $n ?>">
  <h2><?= htmlspecialchars("Things & <stuff> $n") ?></h2>
<?php foreach ($colours as $colour): ?>  <p class="<?= $colour ?>"><?= number_format($n * 1.19, 2) ?></p>
<?php endforeach ?></article>
<?php endfor;
