# The same without sync.
(ARGV[0].to_i / 3).times { |i| puts "a #{i}", "b #{i * 2}", "c #{i % 9}" }
