-- io.write, and a flush after each line.
for i=0,tonumber(arg[1])-1 do io.write("line "..i, "\n") io.stdout:flush() end
