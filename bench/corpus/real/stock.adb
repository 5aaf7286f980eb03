--  A stock list by Ada.Text_IO, whose Put is a write, and a flush for each line; with the argument large collected: the remedy.
with Ada.Command_Line;
with Ada.Integer_Text_IO;
with Ada.Strings.Unbounded;
with Ada.Text_IO;

procedure Stock is
   use Ada.Command_Line, Ada.Text_IO, Ada.Strings.Unbounded;
   Lines : constant Integer := Integer'Value (Argument (Argument_Count));
   Large : constant Boolean := Argument (1) = "large";
   Text  : Unbounded_String;
   Box   : String (1 .. 4);
   Part  : String (1 .. 8);
begin
   for N in 1 .. Lines loop
      if Large then
         Ada.Integer_Text_IO.Put (Part, N);
         Ada.Integer_Text_IO.Put (Box, N * 13 mod 101);
         Append (Text, "part" & Part & " in box " & Box & ASCII.LF);
         if Length (Text) > 65_536 then
            Put (To_String (Text));
            Text := Null_Unbounded_String;
         end if;
      else
         Put ("part");
         Ada.Integer_Text_IO.Put (N, Width => 8);
         Put (" in box ");
         Ada.Integer_Text_IO.Put (N * 13 mod 101, Width => 4);
         New_Line;
         Flush;
      end if;
   end loop;
   if Large then
      Put (Slice (Text, 1, Length (Text) - 1));
      New_Line;
   end if;
end Stock;
