-- io.write of several values, and a flush a line; told `large`, a large buffer and no flush: the remedy.
local large = arg[1] == "large"
if large then io.stdout:setvbuf("full", 65536) end
for i = 1, tonumber(arg[#arg]) do
  io.write(i, " ", i * 7 % 1000, " ", i % 3 == 0 and "fizz" or "-", "\n")
  if not large then io.flush() end
end
