-- A large buffer, and io.write, which does not flush.
io.stdout:setvbuf("full", 65536)
for i=0,tonumber(arg[1])-1 do io.write("line "..i, "\n") end
