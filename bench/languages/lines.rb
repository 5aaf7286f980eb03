# On a terminal a line, elsewhere a block, with sync a write for each call; fixed: joined.
out = ENV['STREAM'] ? $stderr : $stdout
mode = ENV['MODE']
out.sync = true if mode == 'sync'
text = +''
lines = ARGV[0].to_i
i = 0
while i < lines
  if mode == 'fixed'
    text << 'line ' << i.to_s << "\n"
    (out.write(text); text.clear) if text.size >= 65536
  else
    out.write('line ')
    out.puts(i)
  end
  i += 1
end
out.write(text)
