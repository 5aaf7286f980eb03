# A census, a line by IO.puts each; told `large`, a thousand at once: the remedy.
[how | _] = System.argv()
lines = System.argv() |> List.last() |> String.to_integer() |> div(2)
line = fn n -> "town #{n}: #{rem(n * 7919, 100_003)} people in #{rem(n, 997)} houses" end

if how == "large" do
  0..(lines - 1) |> Stream.map(&[line.(&1), ?\n]) |> Stream.chunk_every(1000) |> Enum.each(&IO.write/1)
else
  Enum.each(0..(lines - 1), &IO.puts(line.(&1)))
end
