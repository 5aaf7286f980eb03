-- Sierpinski's carpet, a cell at a time without a buffer; told `large`, with one: the remedy.
local large = arg[1] == "large"
if large then io.stdout:setvbuf("full", 65536) else io.stdout:setvbuf("no") end
local size = 243
local rows = math.ceil(tonumber(arg[#arg]) / size)
for y = 0, rows - 1 do
  for x = 0, size - 1 do
    local a, b, solid = x, y % size, true
    while a > 0 or b > 0 do
      if a % 3 == 1 and b % 3 == 1 then solid = false end
      a, b = a // 3, b // 3
    end
    io.write(solid and "#" or " ")
  end
  io.write("\n")
end
