{ Fields, a newline, and a flush a line; with LARGE a large buffer and no flush: the remedy. }
program fields;
uses sysutils;
var
  i: longint;
  buffer: array[1..65536] of char;
begin
{$ifdef LARGE}
  settextbuf(output, buffer);
{$endif}
  for i := 1 to strtoint(paramstr(1)) do
  begin
    write(i);
    write(' ', i * 3);
    writeln(' ', i mod 7);
{$ifndef LARGE}
    flush(output);
{$endif}
  end;
end.
