-- print: flushes after each line.
for i=0,tonumber(arg[1])-1 do print("line "..i) end
