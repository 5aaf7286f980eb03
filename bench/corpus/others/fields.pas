{ Fields, a newline, and a flush a line; with LARGE lines that are joined and written together: the remedy, as there is no buffer on terminals. It
  needs a larger buffer, too: that of a text file has 256 bytes. }
program fields;
{$H+}
uses sysutils;
var
  i: longint;
{$ifdef LARGE}
  text: string;
  buffer: array[1..65536] of char;
{$endif}
begin
{$ifdef LARGE}
  settextbuf(output, buffer);
{$endif}
  for i := 1 to strtoint(paramstr(1)) do
  begin
{$ifdef LARGE}
    text := text + inttostr(i) + ' ' + inttostr(i * 3) + ' ' + inttostr(i mod 7) + #10;
    if length(text) > 65000 then
    begin
      write(text);
      text := '';
    end;
{$else}
    write(i);
    write(' ', i * 3);
    writeln(' ', i mod 7);
    flush(output);
{$endif}
  end;
{$ifdef LARGE}
  write(text);
{$endif}
end.
