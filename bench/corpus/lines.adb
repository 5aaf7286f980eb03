--  A flush after each line.
with Ada.Command_Line;
with Ada.Text_IO; use Ada.Text_IO;

procedure Lines is
begin
   for N in 1 .. Integer'Value (Ada.Command_Line.Argument (1)) loop
      Put_Line ("line" & Integer'Image (N));
      Flush;
   end loop;
end Lines;
