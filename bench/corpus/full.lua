-- A full buffer (of the C library's size, whatever is asked for), and io.write, which does not flush.
io.stdout:setvbuf("full")
for i=0,tonumber(arg[1])-1 do io.write("line "..i, "\n") end
