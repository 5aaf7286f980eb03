% Newton's method, a step at a time by printf and fflush; told `large`, collected and written at times: the remedy.
arguments = argv ();
large = any (strcmp (arguments, "large"));
left = fix (str2double (arguments{end}) / 4);
text = {};
for n = 1:left
  of = mod (n, 50) + 2;
  if mod (n, 6) == 1
    x = of;
  endif
  x = (x + of / x) / 2;
  line = sprintf ("step %6d: the root of %2d is near %12.9f\n", n, of, x);
  if large
    text{end+1} = line;
    if numel (text) >= 1000
      puts ([text{:}]);
      text = {};
    endif
  else
    puts (line);
    fflush (stdout);
  endif
endfor
puts ([text{:}]);
fflush (stdout);
