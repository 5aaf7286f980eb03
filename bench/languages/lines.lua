-- C's stdio: on a terminal a line, elsewhere a block, but print flushes; fixed: a full buffer, and write.
local out = os.getenv("STREAM") and io.stderr or io.stdout
local mode = os.getenv("MODE")
if mode == "fixed" then out:setvbuf("full", 65536) end
for i = 0, tonumber(arg[1]) - 1 do
  out:write("line ")
  if mode == "fixed" or out == io.stderr then out:write(i, "\n") else print(i) end
end
out:flush()
