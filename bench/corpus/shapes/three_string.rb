# The same text collected, and written in large pieces.
out = +""
(ARGV[0].to_i / 3).times { |i| out << "a #{i}\n" << "b #{i * 2}\n" << "c #{i % 9}\n"; ($stdout.write(out); out.clear) if out.size > 65536 }
$stdout.write(out)
