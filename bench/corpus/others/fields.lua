-- A write for each of three fields, without a buffer; told `large`, a full one: the remedy.
local large = arg[1] == "large"
io.stdout:setvbuf(large and "full" or "no")
for i = 1, tonumber(arg[#arg]) / 3 do io.write(i, "\t"); io.write(i % 7, "\n") end
