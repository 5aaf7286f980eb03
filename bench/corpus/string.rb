# The text is collected, and written in large pieces.
out = +""; ARGV[0].to_i.times { |i| out << "line #{i}\n"; ($stdout.write(out); out.clear) if out.size > 65536 }; $stdout.write(out)
