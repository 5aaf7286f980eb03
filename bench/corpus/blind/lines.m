% printf for each line, which Octave flushes; told large, one text of a thousand lines: the remedy.
words = argv ();
lines = floor (str2double (words{end}) / 4);
if (strcmp (words{end - 1}, "large"))
  for from = 1:1000:lines
    n = from:min (from + 999, lines);
    fputs (stdout, sprintf ("%d %d\n", [n; mod(n, 17)]));
  end
else
  for n = 1:lines
    printf ("%d %d\n", n, mod (n, 17));
  end
end
