{ A flush after each line. }
program lines;
uses sysutils;
var n: longint;
begin
  for n := 1 to StrToInt(ParamStr(1)) do
  begin
    writeln('line ', n);
    flush(output);
  end;
end.
