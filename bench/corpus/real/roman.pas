{ Roman numerals, a write and a flush a line; with LARGE collected to 60,000 characters (on a terminal Pascal flushes whatever its buffer): the remedy. }
program roman;
{$H+}
const
  values: array[0..12] of integer = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1);
  signs: array[0..12] of string[2] = ('M', 'CM', 'D', 'CD', 'C', 'XC', 'L', 'XL', 'X', 'IX', 'V', 'IV', 'I');
var
  n, rest, i, lines, code: longint;
  text, line, number: ansistring;
{$ifdef LARGE}
  buffer: array[1..65536] of char;
{$endif}
begin
  val(paramstr(paramcount), lines, code);
{$ifdef LARGE}
  settextbuf(output, buffer, sizeof(buffer));
{$endif}
  text := '';
  for n := 1 to lines do
  begin
    rest := (n - 1) mod 3999 + 1;
    line := '';
    for i := 0 to 12 do
      while rest >= values[i] do
      begin
        line := line + signs[i];
        rest := rest - values[i];
      end;
    str(n, number);
{$ifdef LARGE}
    text := text + number + ' is ' + line + #10;
    if length(text) > 60000 then
    begin
      write(text);
      text := '';
    end;
{$else}
    write(number, ' is ', line, #10);
    flush(output);
{$endif}
  end;
  write(text);
  flush(output);
end.
