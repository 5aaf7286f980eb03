# sync, and a puts of three lines at a time.
$stdout.sync = true
(ARGV[0].to_i / 3).times { |i| puts "a #{i}", "b #{i * 2}", "c #{i % 9}" }
